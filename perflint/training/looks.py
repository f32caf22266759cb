"""Examines one function that a step may run: which statements run at each step, and what they draw."""

from __future__ import annotations

import ast
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import NamedTuple

from perflint.flow.by_statement import Flow, backward_names, is_generator, with_comprehensions, yielding_loops
from perflint.flow.calls import Callee, CallGraph
from perflint.flow.environment import Environment
from perflint.flow.evaluate import Env, Evaluator
from perflint.flow.known_arguments import Handed, Told, default_values, in_order, left_out, parameter_env
from perflint.flow.known_values import Known, told_to_method
from perflint.flow.values import Values
from perflint.index.kinds import (
    EITHER,
    GUESS,
    LAYER_TAG,
    LOADER_TAG,
    OBJECT_TAG,
    TENSOR_TAG,
    UNKNOWN,
    UNKNOWN_TAG,
    Kind,
)
from perflint.index.modules import Modules, knows_paddle
from perflint.index.project import FileIndex, Part, Place
from perflint.paddle.host_reads import CONVERSIONS, QUALIFIED_ARRAY_FUNCTIONS, READ_METHODS
from perflint.paddle.passthrough import LOOPED
from perflint.query import query
from perflint.syntax.bindings import bound_by, definitions_of
from perflint.syntax.names import dotted
from perflint.syntax.parameters import required_parameters
from perflint.syntax.scopes import LOOPS, Loop, Scope, Statement, is_for_another_program, terminal
from perflint.syntax.tree import walk
from perflint.syntax.vocabulary import decodes, evaluates, is_no_training, is_trial, means_loss, means_scaler
from perflint.training import evidence
from perflint.training.clues import Clues, clues_ahead, is_followed
from perflint.training.every import HowOften, ends_at_once, is_never_defined, left_out_of_calls, never_run
from perflint.training.live import held_names, live
from perflint.training.outcomes import within_expressions
from perflint.training.steps import Read
from perflint.training.training_calls import TrainingCalls

# Finds which calls read from the device: by a host read, or in a helper that gets a tensor.

_MOST_STATEMENTS = 200
_NUMPY = QUALIFIED_ARRAY_FUNCTIONS | {"numpy.mean", "numpy.isnan", "numpy.isfinite", "numpy.sum"}


class Reads(Part):
    """Decides whether one call of a function reads from the device, given its arguments."""

    def in_call(self, at: Place, call: ast.Call, env: Env) -> Read | None:
        """The first host read that a call of a project function certainly does, also through some further calls."""
        for target in CallGraph.of(self._project).callees(at, call, env):
            if not target.sure or not target.bound or target.scope is at.scope or is_generator(target.scope):
                return None
            if self._is_a_step(target.place):
                return None
            parameters = parameter_env(target.scope, *kinds_given(call, Evaluator(at.file, env)))
            told = in_order(default_values(target.scope, call))
            return self._in_function(target.place, in_order(parameters), told)
        return None

    def _is_a_step(self, at: Place) -> bool:
        is_named = at.scope.name in evidence.STEP_METHODS or is_no_training(at.scope.name)
        return at.file.is_quiet or is_named or TrainingCalls.of(self._project).trains(at)

    @query(cycle=None)
    def _in_function(self, at: Place, handed: Handed, told: Told) -> Read | None:
        """The read in a function; a function of hundreds of statements is not searched."""
        if len(at.scope.statements) > _MOST_STATEMENTS:
            return None
        start = Values.of(self._project).base_env(at, dict(handed))
        flow = Flow(at, start, guess_losses=False).run()
        known = Known(at, dict(told))
        path = HowOften(known, at.scope, flow)
        possible: Read | None = None
        for statement in at.scope.statements:
            if not statement.calls or path.is_rare(statement.place, None):
                continue
            env = with_comprehensions(statement.node, flow.before.get(statement.node, {}), at.file)
            guarded = within_expressions(statement.node, known, Evaluator(at.file, env).kind, at.file)
            calls = [call for call in statement.calls if call not in guarded]
            found = self._in_calls(at, calls, env)
            if found is not None and found.sure and not _asks_for_a_key(statement, at.scope):
                return found
            if found is not None and possible is None:
                possible = replace(found, sure=False)
        return possible

    def _in_calls(self, at: Place, calls: list[ast.Call], env: Env) -> Read | None:
        for call in calls:
            if reads_tensor(call, Evaluator(at.file, env), at.file):
                return Read(at.file, call)
            found = self.in_call(at, call, env)
            if found is not None:
                return found
        return None


def kinds_given(call: ast.Call, evaluator: Evaluator) -> tuple[list[Kind], dict[str, Kind], list[Kind]]:
    """The kinds of a call's arguments: by position, by keyword, and those of ``**`` arguments."""
    return *evaluator.arguments(call), [
        evaluator.kind(keyword.value) for keyword in call.keywords if keyword.arg is None
    ]


def _asks_for_a_key(statement: Statement, scope: Scope) -> bool:
    """Whether a statement is under ``if "boxes" in batch:`` for a parameter of its function."""
    return any(
        isinstance(item, ast.Compare)
        and isinstance(item.ops[0], ast.In)
        and isinstance(item.left, ast.Constant)
        and dotted(item.comparators[0]) in scope.parameters
        for test in statement.tests
        for item in walk(test)
    )


def reads_tensor(call: ast.Call, evaluator: Evaluator, file: FileIndex) -> bool:
    """Whether a call itself copies a known tensor to the host."""
    if isinstance(call.func, ast.Attribute) and call.func.attr in READ_METHODS and not call.keywords:
        return evaluator.kind(call.func.value).is_tensor
    name = dotted(call.func)
    if name is None or len(call.args) != 1:
        return False
    if name in CONVERSIONS or file.names.resolve(name) in _NUMPY:
        return evaluator.kind(call.args[0]).is_tensor
    return False


# Finds what a training step draws its batches from: the generators and the iterable objects of the project.


@dataclass(frozen=True)
class Drawn:
    """Code that runs each time something is drawn.

    ``made`` is the call that creates a generator, and ``env`` the kinds of names there; None for a method of an object,
    which has no arguments. ``at`` is the place that draws from it.
    """

    target: Callee
    made: ast.Call | None
    env: Env
    at: ast.expr


def drawn_by_loop(at: Place, loop: Loop, env: Env) -> Iterator[Drawn]:
    """What runs in each iteration of ``for batch in ...``; nothing for a ``while``: see its ``next`` calls."""
    return iter(()) if isinstance(loop, ast.While) else _drawn(at, loop.iter, env)


def drawn_by_next(at: Place, call: ast.Call, env: Env) -> list[Drawn]:
    """What runs in ``next(batches)``; empty for every other call."""
    is_next = isinstance(call.func, ast.Name) and call.func.id == "next" and call.args
    return list(_drawn(at, call.args[0], env)) if is_next else []


def _drawn(at: Place, node: ast.expr, env: Env) -> Iterator[Drawn]:
    """What runs to draw from an expression, also through names and calls around it (``enumerate(batches())``)."""
    waiting: list[tuple[Place, ast.expr, Env, ast.expr | None]] = [(at, node, env, None)]
    for place, item, kinds, name in waiting:  # grows in the loop
        passes = isinstance(item, ast.Call) and terminal(item) in LOOPED and dotted(item.func) is not None
        if not passes:
            found = (*_generators(place, item, kinds), *_methods(place.file, item, kinds))
            yield from (replace(each, at=name or item) for each in found)
        if isinstance(item, ast.Call):
            inner = [(place, part, kinds, name) for part in item.args if passes or isinstance(part, ast.Call)]
        else:
            inner = [(*made, name or item) for made in _held(place, item, kinds)]
        waiting += [each for each in inner if not any(each[1] is known[1] for known in waiting)]


def _generators(at: Place, node: ast.expr, env: Env) -> Iterator[Drawn]:
    """The generators that a call may make."""
    if isinstance(node, ast.Call):
        found = CallGraph.of(at.file.project).callees(at, node, env)
        yield from (Drawn(target, node, env, node) for target in found if is_generator(target.scope))


def _held(at: Place, node: ast.expr, env: Env) -> Iterator[tuple[Place, ast.expr, Env]]:
    """The call whose result a name bound once, or an attribute of the object, refers to."""
    file, scope = at.file, at.scope
    name, project = dotted(node), file.project
    if name is None:
        return
    value = definitions_of(scope).get(name)
    if value is None and name.startswith("self.") and scope.owner is not None:
        kept = scope.owner.attributes.get(name[5:], [])
        if len(kept) != 1:
            return
        value, scope = kept[0]
        env = Values.of(project).base_env(Place(file, scope), CallGraph.of(project).handed(Place(file, scope)))
    if isinstance(value, ast.Call):
        yield Place(file, scope), value, env


def _methods(file: FileIndex, node: ast.expr, env: Env) -> Iterator[Drawn]:
    """``__iter__`` of an object if it yields, else ``__next__``."""
    kind, modules = Evaluator(file, env).kind(node), Modules.of(file.project)
    for part in kind.type.split(EITHER) if kind.tag == OBJECT_TAG else ():
        found = modules.method(part, "__iter__")
        if found is None or not is_generator(found[1]):
            found = modules.method(part, "__next__")
        if found is not None:
            yield Drawn(Callee(found), None, env, node)


# Examines one function, given its arguments: which of its statements run at a step, and which calls.
#
# In ``fit``, the look at its loop finds that ``step(batch)`` runs at each step, and that this leads into ``step``::
#
#     def fit(loader):
#         for batch in loader:
#             step(batch)
#
# A look does not depend on the path that led to the function, so it is cached. ``hot`` goes from look to look.


class Seen(NamedTuple):
    """A statement of the function. ``root``: the step loop that it belongs to; None if the function has none.

    ``is_hot``: it runs at each step.  ``loop``: the outermost step loop of the function around it.
    """

    statement: Statement
    is_hot: bool
    root: Loop | None
    env: Env
    loop: Loop | None


class Way(NamedTuple):
    """A call at a step to follow, with its arguments. ``sure``: names and types lead there."""

    place: Place
    handed: dict[str, Kind]
    told: Told
    root: Loop | None
    at: ast.expr
    sure: bool


@dataclass(frozen=True, eq=False)
class Look:
    """The result of a look. ``reads``: calls of helpers in other files that read from the device."""

    seen: list[Seen] = field(default_factory=list)
    ways: list[Way] = field(default_factory=list)
    reads: list[tuple[ast.Call, Read]] = field(default_factory=list)


_NOTHING = Look()
_RESULTS = 2
"""The least number of tensors that a metric gets: the model's output, and the expected one."""

_CLOCKS = frozenset(
    {"time.time", "time.time_ns", "time.perf_counter", "time.perf_counter_ns", "time.monotonic", "time.monotonic_ns"}
)


@query
def at_loops(at: Place, clues: Clues) -> Look:
    """Look at the step loops of a function, where steps begin."""
    loops = step_loops(at)
    if not loops:
        return _NOTHING
    project = at.file.project
    env = Values.of(project).base_env(at, CallGraph.of(project).handed(at))
    flow = Flow(at, env, guess_losses=True).run()
    path = HowOften(Known(at), at.scope, flow)
    looking = _Looking(at, flow, clues)
    for statement in at.scope.statements:
        around_it = list(loops_around(statement, loops))
        loop, outer = (around_it[0], around_it[-1]) if around_it else (None, None)
        hot = loop is not None and not path.is_rare(statement.place, loop) and statement.node not in never_run(at.scope)
        root = outer if hot else None
        if isinstance(statement.node, ast.While) and statement.node in loops:
            root = statement.node  # its test is evaluated at each step
        looking.at(statement, root is not None, root, outer, reads=True)
    for loop in loops:
        looking.drawn(drawn_by_loop(at, loop, flow.before.get(loop, {})), loop)
    return looking.look


@query
def at_function(at: Place, handed: Handed, told: Told, forward: bool, clues: Clues) -> Look:
    """Look at a function that is called at each step.

    Args:
        at: the function.
        handed: the kinds of its arguments.
        told: what its parameters mean in these calls: ``if verbose:`` may be dead code.
        forward: it is part of a forward pass, in which only calls that lead to a clue are followed.
        clues: what makes the inside of a model's ``forward`` worth checking.
    """
    project = at.file.project
    env = Values.of(project).base_env(at, dict(handed))
    for name in at.scope.parameters:
        if env.get(name, UNKNOWN).tag == UNKNOWN_TAG and means_loss(name):
            env[name] = GUESS
    flow = Flow(at, env, guess_losses=True).run()
    drawn = yielding_loops(at.scope) if is_generator(at.scope) else None
    path = HowOften(Known(at, dict(told)), at.scope, flow)
    skipped = left_out_of_calls(at.scope)
    looking = _Looking(at, flow, clues, forward, told)
    for statement in at.scope.statements:
        loop = next(reversed(list(loops_around(statement, drawn or ()))), None)
        cold = path.is_rare(statement.place, loop) or (drawn is not None and loop is None) or statement.node in skipped
        looking.at(statement, not cold, None, None)
    return looking.look


class _Looking:
    """A look at one function in progress."""

    def __init__(
        self,
        at: Place,
        flow: Flow,
        clues: Clues,
        forward: bool = False,
        told: Told = (),
    ) -> None:
        self.look = Look()
        self._at = at
        self._flow = flow
        self._clues = clues
        self._forward = forward
        self._told = told
        self._definitions = {**Values.of(at.file.project).definitions(at), **dict(told)}
        self._inner: dict[str, Kind] | None = None
        self._known: tuple[Statement | None, Env] = (None, {})
        self._guarded: tuple[Statement | None, frozenset[ast.AST]] = (None, frozenset())

    def at(self, statement: Statement, is_hot: bool, root: Loop | None, loop: Loop | None, reads: bool = False) -> None:
        """Examine a statement; ``reads``: also search for helpers in other files that read from the device."""
        env = self._flow.before.get(statement.node, {})
        is_hot = is_hot and not _ends_timed_part(self._at, statement)
        self.look.seen.append(Seen(statement, is_hot, root, env, loop))
        if not is_hot:
            return
        for call in statement.calls:
            sources = drawn_by_next(self._at, call, env)
            if sources and not self._is_guarded(call, statement):
                self.drawn(sources, root)
            if self._follow(call, statement, root) and reads:
                self._note_read(call, statement)

    def drawn(self, sources: Iterable[Drawn], root: Loop | None) -> None:
        """Follow what a step draws from; for a generator, the code up to its next ``yield``."""
        for source in sources:
            target = source.target
            if target.scope is self._at.scope or not is_followed(target.place):
                continue
            evaluator = Evaluator(self._at.file, source.env)
            handed = kinds_given(source.made, evaluator) if source.made is not None else _NO_HANDED
            parameters = parameter_env(target.scope, *handed)
            self.look.ways.append(Way(target.place, parameters, (), root, source.at, target.sure))

    def _is_guarded(self, call: ast.Call, statement: Statement) -> bool:
        """Whether a conditional expression runs a call of a statement only on a few steps."""
        if self._guarded[0] is not statement:  # there may be thousands of calls
            definitions = Known(self._at, dict(self._told))
            kind = Evaluator(self._at.file, self._known_at(statement)).kind
            self._guarded = statement, within_expressions(statement.node, definitions, kind, self._at.file)
        return call in self._guarded[1]

    def _follow(self, call: ast.Call, statement: Statement, root: Loop | None) -> bool:
        """Follow a call; return whether it may lead to a function in another file that is certainly reached."""
        scope = self._at.scope
        env = self._flow.before.get(statement.node, {})
        targets = [
            target
            for target in self._targets(call, env)
            if target.scope is not scope
            and is_followed(
                target.place,
                _is_sure_step(scope, call, statement, target) or self._compares_results(call, statement, target),
            )
        ]
        if not targets or self._is_guarded(call, statement):
            return False
        given = kinds_given(call, Evaluator(self._at.file, self._known_at(statement)))
        for target in targets:
            if self._forward and not self._leads_on(target):
                continue
            if is_generator(target.scope):
                continue  # calling a generator runs nothing yet: ``drawn`` follows those that a step draws from
            parameters = parameter_env(target.scope, *(given if target.bound else _NO_HANDED))
            if target.bound:
                parameters = {**self._passed_through(target.scope, call), **left_out(target.scope, call), **parameters}
            told = in_order(self._told_to(target.scope, call)) if target.bound else ()
            self.look.ways.append(Way(target.place, parameters, told, root, call, target.sure))
        return targets[0].sure and targets[0].file is not self._at.file

    def _passed_through(self, target: Scope, call: ast.Call) -> dict[str, Kind]:
        """The parameters to which a forward pass passes its own ``*args``: tensors, if nothing says more."""
        arguments = self._at.scope.args.vararg
        if not self._forward or arguments is None or self._at.scope.name != "forward":
            return {}
        passed = (item.value for item in call.args if isinstance(item, ast.Starred))
        is_all = any(dotted(item) == arguments.arg for item in passed)
        return dict.fromkeys(required_parameters(target)[len(call.args) - 1 :], GUESS) if is_all else {}

    def _compares_results(self, call: ast.Call, statement: Statement, target: Callee) -> bool:
        """Whether a function that is named for evaluation gets what the step computed: ``m.evaluate(pred, gt)``.

        Such a function computes metrics of the current batch. One that gets a model or a loader evaluates the model on
        other data, and so does a method of the model.
        """
        name, owner = target.scope.name, target.scope.owner
        if not target.sure or not evaluates(name) or "epoch" in name or is_trial(name) or len(call.args) < _RESULTS:
            return False
        if (
            owner is not None
            and Modules.of(self._at.file.project).kind_of_instance(target.file, owner).tag == LAYER_TAG
        ):
            return False
        arguments, keywords, _ = kinds_given(call, Evaluator(self._at.file, self._known_at(statement)))
        given = [*arguments, *keywords.values()]
        return sum(kind.tag == TENSOR_TAG for kind in given) >= _RESULTS and not any(
            kind.tag in (LAYER_TAG, LOADER_TAG) for kind in given
        )

    def _targets(self, call: ast.Call, env: Env) -> list[Callee]:
        """What a call may reach; in a forward pass, also the ``__init__`` of a created object, with its arguments."""
        graph = CallGraph.of(self._at.file.project)
        found = graph.callees(self._at, call, env)
        follows_new = self._forward and not self._clues.sure
        return [callee for callee in found if follows_new or not callee.creates]

    def _leads_on(self, target: Callee) -> bool:
        """Whether a function is part of a forward pass in which a rule may find something, unlike a beam search."""
        name = target.scope.name.strip("_")
        if (self._clues.sure and not target.sure) or (decodes(name) and not name.startswith("generate_")):
            return False
        return clues_ahead(target.place, self._clues, self._at.scope)

    def _told_to(self, target: Scope, call: ast.Call) -> dict[str, ast.expr]:
        """What the parameters of a function, and the attributes of its object, mean in a call."""
        fields = told_to_method(self._at, call, self._told, target)
        return {**fields, **default_values(target, call, self._definitions)}

    def _known_at(self, statement: Statement) -> Env:
        """The kinds at a statement, including nested functions of the scopes around it."""
        if self._known[0] is not statement:
            env = with_comprehensions(statement.node, self._flow.before.get(statement.node, {}), self._at.file)
            if self._inner is None:
                self._inner = Modules.of(self._at.file.project).functions_of(self._at)
            self._known = statement, Environment(env).over(self._inner) if self._inner else env
        return self._known[1]

    def _note_read(self, call: ast.Call, statement: Statement) -> None:
        """Record a call in the step loop whose helper, in another file, reads from the device.

        Code that computes the loss or takes the optimizer's step is needed at each step: only the read can be removed.
        """
        if evidence.takes_optimizer_step(call) or backward_names(self._at.scope).intersection(bound_by(statement.node)):
            return
        read = Reads.of(self._at.file.project).in_call(self._at, call, self._known_at(statement))
        if read is not None:
            self.look.reads.append((call, read))


_NO_HANDED: tuple[list[Kind], dict[str, Kind], list[Kind]] = ([], {}, [])


# -- where steps begin -------------------------------------------------------------------------------------------------


@query
def step_loops(at: Place) -> Sequence[Loop]:
    """The loops of a function whose body is one training step."""
    if not any(statement.loop for statement in at.scope.statements) or is_never_defined(at.scope):
        return ()
    attributes = at.scope.owner.attributes if at.scope.owner else ()
    held = {*at.scope.parameters, *at.scope.functions, *attributes, *held_names(at.file, at.scope)}
    names = live(at.file.project).names | evidence.EVIDENCE | held
    if not any(_may_train(statement, names) for statement in at.scope.statements):
        return ()
    trains = _evidence(at)
    if trains is None or is_trial(at.scope.name) or evidence.without_gradients(at.scope):
        return ()
    loops = [loop for loop in evidence.step_loops(at.scope, trains) if not _is_dead(at, loop)]
    return [loop for loop in loops if not evidence.over_evaluation_batches(loop)] if at.file.is_static else loops


def _is_dead(at: Place, loop: Loop) -> bool:
    """Whether a loop never starts over, or is under ``if __name__ == "main":``, which is never true."""
    if loop in never_run(at.scope) or ends_at_once(loop):
        return True
    if not isinstance(at.scope.node, ast.Module):
        return False
    return any(
        statement.node is loop and is_for_another_program(statement, at.file.parts[-1])
        for statement in at.scope.statements
    )


def _evidence(at: Place) -> evidence.Trains | None:
    """The function that recognizes a training call; None if a file without Paddle does not drive a training either."""
    calls = TrainingCalls.of(at.file.project)
    if knows_paddle(at.file):
        on_batches = {call for call, loop in _calls_in_loops(at.scope) if evidence.over_batches(loop)}
        return lambda call: calls.call_trains(at, call) or (call in on_batches and calls.trains_on_batch(at, call))
    if not any(calls.trains_elsewhere(at, call) for call, _ in _calls_in_loops(at.scope)):
        return None
    return lambda call: calls.trains_elsewhere(at, call)


def _calls_in_loops(scope: Scope) -> Iterator[tuple[ast.Call, Loop]]:
    """The calls in the loops of a function, each with the innermost one around it."""
    for statement in scope.statements:
        if statement.loop is not None:
            yield from ((call, statement.loop) for call in statement.calls)


def _may_train(statement: Statement, names: frozenset[str]) -> bool:
    called = evidence.terminal_names(statement)
    return bool(called & names) or any(map(means_scaler, called))


def loops_around(statement: Statement, among: Container[ast.stmt]) -> Iterator[Loop]:
    """Those of some loops whose body contains a statement, from the inside out."""
    for link in statement.around:
        if link.branch == "body" and link.node in among and isinstance(link.node, LOOPS):
            yield link.node


def _ends_timed_part(at: Place, statement: Statement) -> bool:
    """Whether a statement reads a tensor only to wait for it, and the next one reads the clock.

    Without the wait, only the time to queue the work would be measured, so the read cannot be removed.
    """
    if not _is_bare_read(statement.node):
        return False
    after = next(islice(at.scope.statements, at.scope.statements.index(statement) + 1, None), None)
    if after is None or after.place is not statement.place:
        return False
    return any(at.file.names.resolve(dotted(call.func) or "") in _CLOCKS for call in after.calls)


def _is_sure_step(scope: Scope, call: ast.Call, statement: Statement, target: Callee) -> bool:
    """Whether the context of a call shows that it is part of a training step, whatever the name of the function."""
    return _shares_step(scope, call, target) or _draws_for(scope, statement, target)


def _shares_step(scope: Scope, call: ast.Call, target: Callee) -> bool:
    """Whether a training step delegates to the step of the evaluation: ``return self.validation_step(batch)``."""
    if scope.name not in evidence.STEP_METHODS or not target.sure or target.scope.name == "forward":
        return False
    given = [*call.args, *(item.value for item in call.keywords)]
    return any(isinstance(item, ast.Name) and item.id in scope.parameters for item in given)


def _draws_for(scope: Scope, statement: Statement, target: Callee) -> bool:
    """Whether a function samples something before its own backward pass: ``t = sampler.sample(n)``.

    A call that is not assigned, or that comes after the backward pass, may show a model's output.
    """
    if target.scope.name != "sample" or not target.sure or not isinstance(statement.node, ast.Assign):
        return False
    around = set(statement.tests)
    return any(
        isinstance(call.func, ast.Attribute) and call.func.attr == "backward"
        for later in scope.statements
        if later.start > statement.start and around <= set(later.tests)
        for call in later.calls
    )


def _is_bare_read(node: ast.stmt) -> bool:
    call = node.value if isinstance(node, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return False
    return call.func.attr in READ_METHODS and not call.args
