"""PPF601: an evaluation loop that keeps the graph for a backward pass that never comes."""

from __future__ import annotations

import ast
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import islice

from perflint.catalogue import shipped
from perflint.facts.gradient_graphs import Mode, ModelRuns, NoGrad, is_switched, modes_in
from perflint.facts.kept_gradients import kept_gradient, left_by_forward
from perflint.facts.programs import is_for_paddle_1
from perflint.findings import Confidence, Edit, Fix, Level
from perflint.flow.by_statement import Flow, backward_names, is_generator
from perflint.flow.calls import CallGraph, Certainty
from perflint.flow.evaluate import Evaluator
from perflint.flow.values import Values
from perflint.index.imports import Imports, serves_paddle
from perflint.index.in_use import Callers, held_names
from perflint.index.kinds import FUNCTION_TAG, LAYER_TAG, LOADER_TAG
from perflint.index.modules import Modules
from perflint.index.project import FileIndex, Part, Place
from perflint.lint.context import Context, shorten
from perflint.lint.registry import At, Candidate, rule
from perflint.query import gathered, query
from perflint.rules.edits import indent_rows, indentation, one_level
from perflint.rules.spelled import Spelling, spelling
from perflint.syntax.bindings import bound_by
from perflint.syntax.file_text import function_texts, words
from perflint.syntax.names import dotted, names_in, stored_names
from perflint.syntax.parameters import arguments_of, fits
from perflint.syntax.reaching import before
from perflint.syntax.scopes import LOOPS, Loop, Scope, Statement, terminal
from perflint.syntax.tree import is_literal, walk
from perflint.syntax.vocabulary import (
    calibrates,
    calls_training,
    evaluates,
    exports,
    means_batches,
    means_model,
    predicts,
    scores,
    trains,
)
from perflint.training import evidence
from perflint.training.evidence import counts_epochs, over_batches

# Finds code that uses gradients, directly or in what it calls.

_ASKS = (
    evidence.STEP_METHODS
    | {"backward", "append_backward", "minimize", "enable_grad", "grad", "gradients", "gradient", "vjp", "jvp"}
    | {"jacobian", "hessian", "Jacobian", "Hessian", "attack", "perturb", "saliency", "explain", "interpret"}
)
_MAKES = frozenset({"to_tensor", "to_variable", "Tensor"})
_HOOKS = ("register_forward_post_hook", "register_forward_pre_hook")
_SPELLINGS = ("paddle.grad(", "autograd", "gradients(", ".backward(", "jacobian", "Jacobian")


class Gradients(Part):
    """Decides which code of a project uses gradients."""

    @query
    def in_forward(self) -> frozenset[FileIndex]:
        """The files with a layer whose forward pass uses gradients, such as one that derives forces from energies."""
        kinds = Modules.of(self._project)
        return frozenset(
            file
            for file in self._project.files.values()
            if not file.is_quiet and not file.is_foreign and any(file.has(word) for word in _SPELLINGS)
            for owner in file.scopes.classes.values()
            if "forward" in owner.methods
            and kinds.kind_of_instance(file, owner).tag == LAYER_TAG
            and self.wanted_in(Place(file, owner.methods["forward"]))
        )

    @query
    def beside_forward(self) -> frozenset[FileIndex]:
        """The files that some program loads along with a layer whose forward pass uses gradients."""
        imports = Imports.of(self._project)
        return imports.closure(imports.users(self.in_forward()))

    @query
    def beside_hooks(self) -> frozenset[FileIndex]:
        """The files that some program loads along with one that lets each forward pass call a function which does."""
        imports = Imports.of(self._project)
        hooked = {
            file
            for file in self._project.mentions.of(*_HOOKS)
            for last in _HOOKS
            for scope, _, call in file.calls_named(last)
            for name in filter(None, map(dotted, call.args[:1]))
            if (found := CallGraph.of(self._project).called(Place(file, scope), name)) is not None
            if self.wanted_in(found) or any(terminal(inner) == "register_hook" for inner in found[1].calls)
        }
        return imports.closure(imports.users(hooked))

    def may_be_wanted(self, at: Place, statements: Iterable[Statement], models: Set[str]) -> bool:
        """Whether calls may reach a function that uses gradients, though nothing shows that they do.

        That is a method of an object of unknown class, or a function that is passed on and then gets one of ``models``.
        """
        graph = CallGraph.of(self._project)
        for call in (call for statement in statements for call in statement.calls):
            targets = graph.callees(at, call)
            if any(self.wanted_in(target.place) for target in targets):
                return True
            gets_one = not targets and not models.isdisjoint(map(dotted, arguments_of(call)))
            if gets_one and any(fits(function, call) for function in self._passed_on()):
                return True
        return False

    @query
    def _passed_on(self) -> list[Scope]:
        """The functions that use gradients and that some file uses as values: in a table, as an argument."""
        files = [file for file in self._project.files.values() if not file.is_quiet and not file.is_foreign]
        return [
            scope
            for file in files
            if any(file.has_words(word) for word in _ASKS)
            for scope in file.scopes.scopes
            if scope.parent is not None and self.wanted_in(Place(file, scope))
            if any(scope.name in held_names(other).held for other in self._project.mentions.values(scope.name))
        ]

    def wanted_by(self, at: Place, statements: Iterable[Statement]) -> bool:
        """Whether any of a scope's statements uses gradients or trains."""
        return any(self._wants(at, statement) for statement in statements)

    @query(cycle=False)  # a recursive call adds nothing
    def wanted_in(self, at: Place) -> bool:
        """Whether a function uses gradients anywhere, including nested functions."""
        return self.wanted_by(at, at.scope.statements) or any(
            self.wanted_in(Place(at.file, inner)) for inner in at.scope.functions.values()
        )

    def _wants(self, at: Place, statement: Statement) -> bool:
        called = (CallGraph.of(self._project).called(at, call.func) for call in statement.calls)
        return asks(statement) or any(
            found is not None and found[1] is not at.scope and self.wanted_in(found) for found in called
        )


def asks(statement: Statement) -> bool:
    """Whether a statement itself trains, reads a gradient, or makes a tensor require one."""
    if evidence.terminal_names(statement) & _ASKS or any(map(evidence.takes_optimizer_step, statement.calls)):
        return True
    node = statement.node
    if not isinstance(node, (ast.Assign, ast.Expr, ast.AugAssign, ast.Return, ast.AnnAssign)):
        return False
    if isinstance(node, ast.Assign) and _sets(node, "stop_gradient", False):
        return True
    return any(isinstance(item, ast.Attribute) and item.attr == "grad" for item in walk(node))


def freezes(statement: Statement, scope: Scope) -> bool:
    """Whether a statement freezes a weight: ``p.stop_gradient = True``, ``p.trainable = False``.

    In Paddle 1.x, tensors just created from a batch are marked the same way and do not count: ``label.stop_gradient =
    True``.
    """
    node = statement.node
    if not isinstance(node, ast.Assign):
        return False
    if _sets(node, "trainable", False):
        return True
    targets = [dotted(target.value) for target in node.targets if isinstance(target, ast.Attribute)]
    is_data = all(name is not None and _is_made_of_data(name, statement, scope) for name in targets)
    return _sets(node, "stop_gradient", True) and not is_data


def _is_made_of_data(name: str, at: Statement, scope: Scope) -> bool:
    """Whether the value of a name at a statement is a tensor that the function has created from host data."""
    values = [binding.value for binding in before(name, at, scope)]
    return bool(values) and all(isinstance(value, ast.Call) and terminal(value) in _MAKES for value in values)


def _sets(node: ast.Assign, attribute: str, value: bool) -> bool:
    targets = (target.attr for target in node.targets if isinstance(target, ast.Attribute))
    return is_literal(node.value, value) and attribute in targets


# Finds evaluation loops: loops over batches that call a model without needing gradients.

RULE = shipped()["PPF601"]
_SWITCH = re.compile(r"\.[\s\\]*eval\b")
_LOOP = re.compile(r"^[ \t\f]*for\b", re.MULTILINE)
_HEADER = re.compile(_LOOP.pattern + r"[\s\S]*?(?::[ \t]*(?:#.*)?$|\Z)", re.MULTILINE)
_ASKS_WHETHER = "is_grad_enabled"
_MOST_FUNCTIONS = 30
_WEIGHTS = frozenset({"parameters", "named_parameters"})


@dataclass(frozen=True)
class ModelCall:
    """A call of a model in a loop over batches; ``sure``: not only its name shows it."""

    loop: Loop
    statement: Statement
    call: ast.Call
    sure: bool


@dataclass(frozen=True)
class SilentLoop:
    """A loop that seems to evaluate with gradients on; ``confirmed`` examines its arguments.

    ``calls``: the model calls in it. ``confidence``: the highest possible confidence. HIGH if imports, types or
    ``.eval()`` show that it calls a model on batches; MEDIUM if names do; LOW if an unknown caller may use ``no_grad``,
    if the loop may be over the parts of one sample, if it calibrates a model on a few batches, or if only predicting
    programs run it: they do not train.
    """

    loop: Loop
    at: Place
    calls: list[ModelCall]
    confidence: Confidence


@dataclass(frozen=True)
class Evaluation:
    """An evaluation loop with gradients on.

    ``call``: the first call in it that passes tensors to a model. ``confidence``: as of a ``SilentLoop``. ``whole``:
    the function around it only evaluates, so that a decorator can replace a ``with`` around the loop. ``risk``: why the
    gradients may be needed after all, ``""`` if they are not. ``is_fluid``: the code is for Paddle 1.x.
    """

    loop: Loop
    at: Place
    call: ast.Call
    confidence: Confidence
    whole: bool
    risk: str
    is_fluid: bool


@query
def evaluations(file: FileIndex) -> Mapping[ast.stmt, SilentLoop]:
    """The loops of a file that may evaluate and keep a graph for a backward pass that never happens."""
    is_left_out = file.is_quiet or file.is_foreign or any(map(exports, file.parts))
    if is_left_out or not _names_evaluation(file.source.rows_text):
        return {}
    switches = file.has_words("eval")
    scopes = [scope for scope in file.scopes.scopes if _may_evaluate(scope, switches)]
    if not scopes or not serves_paddle(file) or is_switched(file) or "reprod_log" in file.names.packages:
        return {}  # (a comparison with another framework runs one batch)
    return {found.loop: found for scope in scopes for found in _Finder(Place(file, scope)).found()}


def confirmed(found: SilentLoop) -> Evaluation | None:
    """The evaluation loop for a candidate, after a closer look.

    None if its models get arrays, if its gradients are needed, if ``eval()`` has switched them off (as in Paddle 1.x),
    or if it is a loop over loaders that calls a function with the loop over batches, which is a separate candidate.
    """
    at, file, asks = found.at, found.at.file, Gradients.of(found.at.file.project)
    found = replace(found, calls=[item for item in found.calls if not _has_its_own_loop(at, item.call)])
    first = _first_with_tensors(found)
    if first is None:
        return None
    is_fluid = is_for_paddle_1([file, *_files_of_models(found)])
    if is_fluid and _records_no_graph(at, first.statement):
        return None
    wanted = asks.wanted_in(at)
    if wanted and asks.wanted_by(at, at.scope.statements_in(found.loop)):
        return None
    if asks_inside := _asks_for_gradients(found):
        return None
    most = Confidence.LOW if asks_inside is None else Confidence.HIGH if first.sure else Confidence.MEDIUM
    confidence = min(found.confidence, most)
    only = _evaluates(at.scope.name) and not wanted and not any(map(_may_train, at.scope.statements))
    whole = only and not _gives_more(found)
    risk = RULE.texts["may ask"] if asks_inside is None else _risk(found, whole)
    return Evaluation(found.loop, at, first.call, confidence, whole, risk, is_fluid)


def _gives_more(found: SilentLoop) -> bool:
    """Whether the gradient of something that the function computes outside of the loop may be missed."""
    at, scope = found.at, found.at.scope
    inside = {statement.node for statement in scope.statements_in(found.loop)}
    others = [call for item in scope.statements if item.node not in inside for call in item.calls]
    having = [
        call
        for call in others
        if terminal(call) in _WEIGHTS
        or any(means_model(dotted(item) or "") for item in call.args)
        or ModelRuns.of(at.file.project).runs_model(at, call) is not None
    ]
    return bool(having) and bool(kept_gradient(at, None, having, True))


def _files_of_models(found: SilentLoop) -> list[FileIndex]:
    """The files with the forward passes that a loop runs, as far as they are known."""
    return [forward.file for item in found.calls if (forward := _forward(found.at, item.call)) is not None]


def _records_no_graph(at: Place, statement: Statement) -> bool:
    """Whether Paddle 1.x records no graph at a statement, because ``eval()`` has been called before.

    ``Layer.eval()`` of one model switches the tracer in that version, for the whole program, until ``train()`` is
    called.
    """
    before = _switches_before(at.scope, statement)
    if before:
        return _evaluates_at(before, statement)
    sites = [site for site in CallGraph.of(at.file.project).callers(at) if site.scope is not at.scope]
    return bool(sites) and all(
        _evaluates_at(_switches_before(site.scope, site.statement), site.statement) for site in sites
    )


def _switches_before(scope: Scope, at: Statement) -> list[Mode]:
    """The mode switches before a statement, whose results are unused; ``print(metric.eval()[0])`` is not one."""
    return [mode for mode in _modes_before(scope, at) if _is_by_itself(mode)]


def _is_by_itself(mode: Mode) -> bool:
    """Whether a mode switch is a whole statement: ``model.eval()``, or ``a.eval(), b.eval()``."""
    node = mode.statement.node
    if not isinstance(node, ast.Expr):
        return False
    calls = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
    wanted = f"{mode.name}.{'train' if mode.trains else 'eval'}"
    return any(isinstance(call, ast.Call) and dotted(call.func) == wanted for call in calls)


def _has_its_own_loop(at: Place, call: ast.Call) -> bool:
    """Whether a call reaches a function with an evaluation loop that is reported there."""
    return any(
        inner.at.scope is reached.scope and inner.confidence > Confidence.LOW
        for reached in CallGraph.of(at.file.project).reached(at, call)
        if reached.scope is not at.scope
        for inner in evaluations(reached.file).values()
    )


def _asks_for_gradients(found: SilentLoop) -> bool | None:
    """Whether a forward pass in a loop uses gradients, which ``no_grad`` would break; None if it may."""
    file = found.at.file
    asks = Gradients.of(file.project)
    if file in asks.beside_hooks():
        return None
    if file not in asks.beside_forward():
        return False
    forwards = [_forward(found.at, item.call) for item in found.calls]
    if any(forward is not None and asks.wanted_in(forward) for forward in forwards):
        return True
    return None if None in forwards else False


def _forward(at: Place, call: ast.Call) -> Place | None:
    """The forward pass, or the method of the model, that a call runs; None if it is not known."""
    func = call.func
    model = func.value if isinstance(func, ast.Attribute) and func.attr == "forward" else func
    kind = Values.of(at.file.project).lasting_kind(at, model)
    if kind.tag == FUNCTION_TAG:
        return next(iter(Modules.of(at.file.project).functions_of_kind(kind)), None)
    return Modules.of(at.file.project).method(kind.type, "forward") if kind.tag == LAYER_TAG and kind.type else None


def _first_with_tensors(found: SilentLoop) -> ModelCall | None:
    """The first call that may get tensors: if all arguments are on the host, it does not call a network."""
    env = Values.of(found.at.file.project).base_env(found.at, {})
    before = Flow(found.at, env, guess_losses=False).run().before
    for item in found.calls:
        evaluator = Evaluator(found.at.file, before.get(item.statement.node, {}))
        given = arguments_of(item.call)
        if not given or not all(evaluator.kind(argument).is_host for argument in given):
            return item
    return None


def _asks_whether(at: Place) -> bool:
    """Whether the file of an evaluation, or one with a function that it calls, asks if gradients are on."""
    asking = at.file.project.mentions.of(_ASKS_WHETHER)
    if not asking or at.file in asking:
        return at.file in asking
    graph = CallGraph.of(at.file.project)
    return any(called.file in asking for call in at.scope.calls for called in graph.reached(at, call))


def _risk(found: SilentLoop, whole: bool) -> str:
    """Why the gradients may be needed after all, ``""`` if they are not."""
    at, models = found.at, {name for item in found.calls if (name := dotted(item.call.func))}
    graph, inside = CallGraph.of(at.file.project), at.scope.statements if whole else at.scope.statements_in(found.loop)
    if Gradients.of(at.file.project).may_be_wanted(at, inside, models):
        return RULE.texts["may call"]
    if _asks_whether(at):
        return RULE.texts["tells"]
    for site in graph.callers(at):
        if isinstance(site.statement.node, ast.Assign):
            kept = {name for target in site.statement.node.targets for name in stored_names(target)}
            if kept & backward_names(site.scope):
                return RULE.texts["returned"]
    calls = [item.call for item in found.calls]
    forwards = filter(None, (_forward(at, call) for call in calls))
    if left := next(filter(None, map(left_by_forward, forwards)), ""):
        return left
    if whole:
        calls += [call for call in at.scope.calls if dotted(call.func) in models]
    return _kept_for_backward(at.scope, found.loop) or kept_gradient(at, found.loop, calls, whole)


def _names_evaluation(text: str) -> bool:
    """``_may_evaluate`` by text alone, before parsing."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)  # normalized as Python does for names
    if not _LOOP.search(text):
        return False
    if _SWITCH.search(text) or any(_evaluates(name) and _LOOP.search(body) for name, body in function_texts(text)):
        return True
    return any(map(evaluates, words(" ".join(_HEADER.findall(text)))))


def _may_evaluate(scope: Scope, switches: bool) -> bool:
    """A fast test that accepts everything that may evaluate; ``switches``: whether the file may contain ``.eval()``."""
    loops = [statement.node for statement in scope.statements if isinstance(statement.node, ast.For)]
    return bool(loops) and (
        _evaluates(scope.name)
        or any(map(_over_evaluation_data, loops))
        or (switches and any(map(_switches_mode, scope.statements)))
    )


def _evaluates(name: str) -> bool:
    said = evaluates(name) or predicts(name) or scores(name)
    return said and not trains(name)


class _Finder:
    """Searches one scope of a file. Tests that need other files come last."""

    def __init__(self, at: Place) -> None:
        self._at = at
        self._no_grad = NoGrad.of(at.file.project)

    def found(self) -> Iterator[SilentLoop]:
        """The loops that may evaluate."""
        scope = self._at.scope
        if self._no_grad.decorated(self._at) or any(freezes(each, scope) for each in scope.statements):
            return
        calls = gathered((item.loop, item) for item in self._model_calls())
        if calls and not self._no_grad.over_scope(self._at):
            for loop, found in calls.items():
                sure = any(item.sure for item in found)
                yield SilentLoop(loop, self._at, found, self._confidence(loop, sure))

    def _model_calls(self) -> Iterator[ModelCall]:
        """The calls of a model in loops over batches that are not under ``no_grad``."""
        at, candidates = self._at, self._candidates()
        for statement in at.scope.statements if candidates else ():
            around = _candidates_around(statement, candidates)
            if not around or not statement.calls or self._no_grad.over_statement(at, statement):
                continue
            for call in statement.calls:
                sure = ModelRuns.of(at.file.project).runs_model(at, call)
                loop = self._loop_of(around, call) if sure is not None else None
                if loop is not None:
                    yield ModelCall(loop, statement, call, bool(sure))

    def _candidates(self) -> set[Loop]:
        """The loops of a scope that evaluate, judging by their place and contents."""
        named = _evaluates(self._at.scope.name)
        found: set[Loop] = {
            node
            for node in (statement.node for statement in self._at.scope.statements)
            if isinstance(node, ast.For)
            and not counts_epochs(node)
            # a few selected samples, or models, are not a data set
            and not isinstance(node.iter, (ast.List, ast.Tuple))
            and (named or not isinstance(node.body[-1], ast.Break))  # a look at the first batch
            and (named or _over_evaluation_data(node) or _under_eval(self._at.scope, node))
        }
        for statement in self._at.scope.statements:
            around = found.intersection(link.node for link in statement.around)
            if around and (asks(statement) or _may_train(statement)):
                found -= around
        return found

    def _confidence(self, loop: Loop, sure: bool) -> Confidence:
        assert not isinstance(loop, ast.While)
        over_data = any(map(means_batches, names_in(loop.iter))) or self._is_over_a_loader(loop)
        if (
            not (over_data or evaluates(self._at.scope.name))
            or calibrates(self._at.scope.name)
            or self._is_dispatched()
            or _only_predicts(self._at)
        ):
            return Confidence.LOW
        says_so = _evaluates(self._at.scope.name) or _under_eval(self._at.scope, loop)
        return Confidence.HIGH if sure and over_data and says_so else Confidence.MEDIUM

    def _is_over_a_loader(self, loop: ast.For | ast.AsyncFor) -> bool:
        """Whether a loop is over a loader, whatever it is called: ``val = DataLoader(...)``, ``for x, y in val``."""
        values = Values.of(self._at.file.project)
        nodes = (node for node in ast.walk(loop.iter) if isinstance(node, (ast.Name, ast.Attribute)))
        return any(values.lasting_kind(self._at, node).tag == LOADER_TAG for node in nodes)

    def _is_dispatched(self) -> bool:
        """Whether it is unknown who calls the function in the end: an unknown caller may use ``no_grad``.

        It is imported elsewhere but not called by name; or the calls that lead to it begin in a method that is only
        called on objects of an unknown class, as in ``for metric in metrics: metric.update(model)``, and one of the
        calls by that name runs without gradients, or there are too many to tell.
        """
        graph, waiting, seen = CallGraph.of(self._at.file.project), [(self._at, False)], set[Scope]()
        while waiting and len(seen) < _MOST_FUNCTIONS:
            at, is_guess = waiting.pop()
            seen.add(at.scope)
            sites = [site.place for site in graph.callers(at) if site.scope is not at.scope]
            if not sites:
                is_guess, sites = True, list(islice(_named_calls(at), _MOST_FUNCTIONS))
                if _is_called_otherwise(at) or len(sites) == _MOST_FUNCTIONS:
                    return True
            if is_guess and any(map(self._is_off, sites)):
                return True
            waiting += [(site.function, is_guess) for site in sites if site.scope not in seen]
        return any(is_guess for _, is_guess in waiting)

    def _is_off(self, call: Place) -> bool:
        off = call.statement is not None and self._no_grad.over_statement(call.function, call.statement)
        return off or self._no_grad.decorated(call.function)

    def _loop_of(self, around: list[Loop], call: ast.Call) -> Loop | None:
        """The outermost of the loops around a model call that passes it the batches."""
        best = next(
            (loop for loop in reversed(around) if over_batches(loop) or _feeds(self._at.scope, loop, call)), None
        )
        is_own = (dotted(call.func) or "self").partition(".")[0] == "self"
        if best is not None and is_own and self._is_layer() and not over_batches(best):
            return None  # a decoder that calls its own parts repeatedly
        return best

    def _is_layer(self) -> bool:
        owner, kinds = self._at.scope.owner, Modules.of(self._at.file.project)
        return owner is not None and kinds.kind_of_instance(self._at.file, owner).tag == LAYER_TAG


def _named_calls(at: Place) -> Iterator[Place]:
    """The calls of any object's method that has the name of this one."""
    if at.scope.owner is not None:
        for file, caller, statement, call in Callers.of(at.file.project).named(at.scope.name):
            if isinstance(call.func, ast.Attribute) and caller is not at.scope:
                yield Place(file, caller, statement)


def _is_called_otherwise(at: Place) -> bool:
    """Whether a function is imported elsewhere but not called by its name."""
    scope, project = at.scope, at.file.project
    is_inner = scope.parent is not at.file.scopes.module or scope.owner is not None
    if is_inner or any(Callers.of(project).named(scope.name)):
        return False
    return any(file is not at.file and file.names.is_bound(scope.name) for file in project.mentions.of(scope.name))


@query(cycle=False)
def _only_predicts(at: Place) -> bool:
    """Whether only predicting programs are known to call a function."""
    if predicts(at.file.parts[-1]) or any(map(exports, at.file.parts)):
        return not at.file.has(".backward(")
    if at.scope is at.file.scopes.module:
        return False
    callers = [site for site in CallGraph.of(at.file.project).callers(at, Certainty.NAME) if site.scope is not at.scope]
    return bool(callers) and all(_only_predicts(site.function) for site in callers)


def _switches_mode(statement: Statement) -> bool:
    return any(
        isinstance(call.func, ast.Attribute) and call.func.attr == "eval" and not call.args for call in statement.calls
    )


def _may_train(statement: Statement) -> bool:
    """Whether a statement calls something that trains, by its name; ``model.train()`` only switches the mode."""
    for call in statement.calls:
        receiver, _, last = (dotted(call.func) or "").rpartition(".")
        switches = last == "train" and not call.args and means_model(receiver.rpartition(".")[2])
        if calls_training(last) and not switches and receiver != "self":
            return True
    return False


def _under_eval(scope: Scope, loop: Loop) -> bool:
    """Whether the last switch before a loop, in a block around it, is ``model.eval()``."""
    at = next(statement for statement in scope.statements if statement.node is loop)
    return _evaluates_at(_modes_before(scope, at), at)


def _evaluates_at(before: Sequence[Mode], at: Statement) -> bool:
    """Whether the last of the switches before a statement, in a block around it, is ``model.eval()``."""
    return bool(before) and not before[-1].trains and set(before[-1].statement.branches).issubset(at.branches)


def _modes_before(scope: Scope, at: Statement) -> list[Mode]:
    return [mode for mode in modes_in(scope) if mode.statement.node.lineno < at.node.lineno]


def _kept_for_backward(scope: Scope, loop: Loop) -> str:
    """Why names bound in a loop may reach a backward pass: ``loss.backward()`` without its own ``loss = ...``."""
    inside = scope.statements_in(loop)
    bound = {name for statement in inside for name in bound_by(statement.node)}
    for name in bound & backward_names(scope):
        for statement in scope.statements:
            if any(dotted(call.func) == f"{name}.backward" for call in statement.calls):
                own = [item for item in scope.statements if item not in inside and item.loop is statement.loop]
                if not any(name in bound_by(item.node) and item.start < statement.start for item in own):
                    return RULE.texts["after the loop"].format(name=name)
    return ""


def _over_evaluation_data(loop: Loop) -> bool:
    """Whether a loop is over something with the name of a validation loader."""
    if isinstance(loop, ast.While) or not over_batches(loop):
        return False
    return any(evaluates(name) for name in names_in(loop.iter)) and not any(map(trains, names_in(loop.iter)))


def _feeds(scope: Scope, loop: Loop, call: ast.Call) -> bool:
    """Whether the items of a loop go into a call. The plain counter of a ``range`` is not a batch."""
    assert not isinstance(loop, ast.While)
    seeds = set(names_in(loop.target))
    counted = isinstance(loop.iter, ast.Call) and dotted(loop.iter.func) == "range"
    derived = set(seeds)
    for statement in scope.statements_in(loop):
        node = statement.node
        if isinstance(node, ast.Assign) and derived & set(names_in(node.value)):
            derived |= {name for target in node.targets for name in stored_names(target)}
        elif isinstance(node, ast.For) and derived & set(names_in(node.iter)):
            derived |= set(stored_names(node.target))
    fed = {name for argument in arguments_of(call) for name in names_in(argument)}
    return bool(fed & ((derived - seeds) if counted else derived))


def _candidates_around(statement: Statement, candidates: set[Loop]) -> list[Loop]:
    """The unbroken run of candidates around a statement, from the inside out."""
    around: list[Loop] = []
    for link in statement.around:
        if link.branch == "body" and isinstance(link.node, LOOPS):
            if link.node not in candidates:
                break
            around.append(link.node)
    return around


# PPF601: an evaluation loop that keeps the graph for a backward pass that never happens.

# Decorators that work with another one below them.
_EASY = frozenset({"staticmethod", "classmethod", "property", "abstractmethod", "abc.abstractmethod", "override"})
_IN_FLUID = "fluid.dygraph.no_grad"


def _evaluating(file: FileIndex) -> Iterator[Candidate]:
    for node, found in (evaluations(file) if file.has_words("for") else {}).items():
        if isinstance(node, (ast.For, ast.AsyncFor)):
            yield Candidate(node.iter, node, found, found.confidence)


@rule(RULE.code, at=At.ANYWHERE, find=_evaluating, claims=False, heeds_claims=False)
def evaluation_with_gradients(candidate: SilentLoop, context: Context) -> None:
    """Report the header of an evaluation loop that runs with gradients on."""
    found = confirmed(candidate)
    if found is not None:
        what, guard = shorten(ast.unparse(found.call)), _IN_FLUID if found.is_fluid else "paddle.no_grad()"
        context.report(_fix(found, context), confidence=found.confidence, what=what, guard=guard)


def _fix(found: Evaluation, context: Context) -> Fix:
    level, reason = (Level.UNSAFE, found.risk) if found.risk else (Level.SAFE, "")
    if found.is_fluid and not reason:
        level, reason = Level.UNSAFE, RULE.texts["old Paddle"]
    if is_generator(found.at.scope):
        level, reason = Level.DISPLAY, RULE.texts["generator"]
    decorated = _decorated(found, context.file)
    spelled = decorated or _spelling(found, found.loop, context.file)
    if spelled is None:
        spelled, level, reason = Spelling("paddle.no_grad"), Level.DISPLAY, RULE.texts["name taken"]
    if decorated is not None:
        row, source = found.at.scope.row, context.file.source
        start = source.lines.line_start(row)
        # without parentheses, every version of fluid accepts it
        decorator = f"@{decorated.name}" if found.is_fluid else f"@{decorated.name}()"
        edit = Edit(start, start, f"{indentation(source, row)}{decorator}{source.newline}")
        return Fix(f"put `{decorator}` above the function", (edit,), level, reason, decorated.imports)
    title, edits = f"put the loop under `with {spelled.name}():`", tuple(_wrap(found, spelled, context))
    return spelled.trusted(Fix(title, edits, level, reason))


def _decorated(found: Evaluation, file: FileIndex) -> Spelling | None:
    """How ``no_grad`` is written above the function, if a decorator is as good as a ``with``, and cannot fail there.

    A decorator is evaluated when the module is imported, maybe without Paddle.
    """
    node = found.at.scope.node
    if found.whole and isinstance(node, ast.FunctionDef) and _EASY.issuperset(map(dotted, node.decorator_list)):
        spelled = _spelling(found, node, file)
        return spelled if spelled is not None and not spelled.doubt else None
    return None


def _wrap(found: Evaluation, spelled: Spelling, context: Context) -> list[Edit]:
    source, first, last = context.file.source, found.loop.lineno, _last_row(found, context)
    unit = one_level(indentation(source, found.loop.body[0].lineno), indentation(source, first))
    above = f"{spelled.row}{source.newline}{indentation(source, first)}" if spelled.row else ""
    header = f"{above}with {spelled.name}():"
    return indent_rows(source, first, last, unit, header)


def _last_row(found: Evaluation, context: Context) -> int:
    """The last row of a loop, with the comments below its last statement at the same indentation."""
    source, row = context.file.source, found.loop.end_lineno or found.loop.lineno
    depth = len(indentation(source, found.loop.lineno))
    following = row + 1
    while following <= source.lines.rows:
        line = source.lines.line(following)
        if line.strip() and not (line.lstrip().startswith("#") and len(indentation(source, following)) > depth):
            break
        row = following if line.strip() else row
        following += 1
    return row


def _spelling(found: Evaluation, node: ast.stmt, file: FileIndex) -> Spelling | None:
    """How ``no_grad`` is written above a loop, or above a function; None if the name is taken."""
    target, root = (f"paddle.{_IN_FLUID}", "paddle.fluid") if found.is_fluid else ("paddle.no_grad", "paddle")
    is_loop = node is found.loop
    return spelling(target, node, file, root, is_run=is_loop, allows_row=is_loop)
