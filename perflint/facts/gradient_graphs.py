"""Where gradients are off, which names a backward pass needs, and which calls run a model with gradients."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING

from perflint.flow.by_statement import backward_names, differentiated
from perflint.flow.calls import CallGraph, CallSite, Certainty
from perflint.flow.values import Values
from perflint.index.imports import Imports
from perflint.index.kinds import LAYER_TAG
from perflint.index.project import Part, Place
from perflint.paddle.tensor_methods import ARRAY_FUNCTIONS, CONVERSIONS, READ_METHODS
from perflint.query import query
from perflint.syntax.bindings import bound_by
from perflint.syntax.names import dotted
from perflint.syntax.parameters import arguments_of
from perflint.syntax.scopes import Link, Loop, Scope, Statement
from perflint.syntax.tree import children
from perflint.syntax.vocabulary import counts_hits, evaluates, makes, means_loss, means_model, runs_forward
from perflint.training.evidence import GRADIENTS_OFF, turns_gradients_off

if TYPE_CHECKING:
    from perflint.index.project import FileIndex


# Finds which names of a function are used in its backward passes, and which of their graphs an expression carries.

CUTS = frozenset(
    {*READ_METHODS, *CONVERSIONS, *ARRAY_FUNCTIONS, "detach", "detach_", "str", "repr", "format", "len", "print"}
    | {"to_tensor", "isnan", "isfinite", "isinf", "any", "all", "argmax", "argmin", "isinstance"}
    | {
        "equal",
        "not_equal",
        "equal_all",
        "allclose",
        "greater_than",
        "less_than",
        "greater_equal",
        "less_equal",
        "range",
    }
)
"""Calls that return numbers, arrays, or tensors that never have a gradient."""
HOST_ATTRIBUTES = frozenset({"shape", "dtype", "ndim", "size", "name", "data", "place", "stop_gradient", "grad"})


def direct(scope: Scope) -> frozenset[str]:
    """Names that a scope calls ``backward`` on, and the parts that they are sums of."""
    return scope.once(direct, lambda: differentiated(scope) | _parts(scope, differentiated(scope)))


def results_of_calls(scope: Scope) -> dict[tuple[str, Loop | None], tuple[ast.Assign, int | None]]:
    """The first call that each name is bound to in each loop: the statement, and the position in the returned tuple."""
    return scope.once(results_of_calls, lambda: _first_results(scope))


def _first_results(scope: Scope) -> dict[tuple[str, Loop | None], tuple[ast.Assign, int | None]]:
    found: dict[tuple[str, Loop | None], tuple[ast.Assign, int | None]] = {}
    for statement in scope.statements:
        node = statement.node
        if not isinstance(node, ast.Assign) or len(node.targets) != 1 or not isinstance(node.value, ast.Call):
            continue
        target = node.targets[0]
        is_tuple = isinstance(target, ast.Tuple)
        for index, part in enumerate(target.elts if isinstance(target, ast.Tuple) else [target]):
            name = dotted(part)
            if name is not None:
                found.setdefault((name, statement.loop), (node, index if is_tuple else None))
    return found


def feeding_backward(scope: Scope) -> frozenset[str]:
    """Names whose value goes into a backward pass, directly or through other names computed from them."""
    return scope.once(feeding_backward, lambda: _worked_back(scope))


def _worked_back(scope: Scope) -> frozenset[str]:
    feeding = set(direct(scope) | backward_names(scope))
    for statement in scope.statements:
        for call in statement.calls:
            if isinstance(call.func, ast.Attribute) and call.func.attr == "backward":
                feeding.update(filter(None, map(dotted, uncut(call.func.value))))
    for statement in reversed(scope.statements):
        node = statement.node
        if isinstance(node, ast.Assign) and not feeding.isdisjoint(bound_by(node)):
            feeding.update(filter(None, map(dotted, uncut(node.value))))
    return frozenset(feeding)


def argument_names(call: ast.Call) -> set[str]:
    """The plain names among the arguments of a call."""
    given = arguments_of(call)
    return {argument.id for argument in given if isinstance(argument, ast.Name)}


def gives_counts(call: ast.Call) -> bool:
    """Whether a function counts correct results, and so has no gradient."""
    return counts_hits((dotted(call.func) or "").rpartition(".")[2])


def _parts(scope: Scope, differentiated: frozenset[str]) -> frozenset[str]:
    """The losses that are weighted and added to one on which ``backward`` is called."""
    found: set[str] = set()
    for statement in scope.statements:
        node = statement.node
        if isinstance(node, (ast.Assign, ast.AugAssign)) and differentiated & set(bound_by(node)):
            found.update(name for name in _terms(node.value) if means_loss(name))
    return frozenset(found)


def _terms(value: ast.expr) -> Iterator[str]:
    """The names in an arithmetic expression, found in a loop, since there are sums of a thousand terms."""
    waiting = [value]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.BinOp):
            waiting += (node.right, node.left)
        elif isinstance(node, ast.Name):
            yield node.id


def carried(value: ast.expr, cuts: Callable[[ast.Call], bool] = lambda _: False) -> Iterator[ast.expr]:
    """The names, attributes and calls in an expression whose graphs reach its value: not what is read or detached.

    ``cuts``: which calls return no graph either.
    """
    waiting: list[ast.AST] = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, ast.Call):
            receiver = [item.func.value] if isinstance(item.func, ast.Attribute) else []
            last = item.func.attr if isinstance(item.func, ast.Attribute) else dotted(item.func) or ""
            if last not in CUTS and not cuts(item):
                yield item
                waiting += reversed([*receiver, *arguments_of(item)])
        elif isinstance(item, (ast.Name, ast.Attribute)):
            if isinstance(item, ast.Name) or item.attr not in HOST_ATTRIBUTES:
                yield item
                waiting += [item.value] if isinstance(item, ast.Attribute) and dotted(item) is None else []
        elif isinstance(item, ast.Subscript):
            waiting.append(item.value)
        elif not isinstance(item, (ast.Compare, ast.JoinedStr, ast.Lambda)):
            waiting += reversed(children(item))


def uncut(value: ast.expr) -> list[ast.expr]:
    """The names in an expression whose graph reaches its value: those that are not read or detached."""
    return [item for item in carried(value) if dotted(item) is not None]


# Finds where gradients are off: because of a decorator, a ``with``, a mode switch, or the callers of the function.

_SWITCHED = re.compile(r"set_grad_enabled|no_grad\(\)(\(|\.__enter__)")
_MOST_GUESSES = 2


class NoGrad(Part):
    """Answers for one project where gradients are off."""

    def over_scope(self, at: Place, guesses: int = _MOST_GUESSES) -> bool:
        """Whether a function runs with gradients off: by its decorators, or because all known callers turn them off.

        Args:
            file: the file of the function.
            scope: the function.
            guesses: how many calls on the path may be known only by a method's name.
        """
        return self._is_over(at, guesses)

    @query(cycle=False)  # a recursive call decides nothing
    def _is_over(self, at: Place, guesses: int) -> bool:
        return self.decorated(at) or self._by_callers(at, guesses)

    def decorated(self, at: Place) -> bool:
        """Whether a decorator switches gradients off, directly or in its wrapper of the function."""
        if isinstance(at.scope.node, ast.Module):
            return False
        return any(
            self._turns_off(decorator, Place(at.file, at.scope.parent or at.scope))
            for decorator in at.scope.node.decorator_list
        )

    def over_statement(self, at: Place, statement: Statement) -> bool:
        """Whether a ``with`` around a statement switches gradients off, or a ``no_grad`` is in one of its calls."""
        return self._under_with(at, statement.place) or any(
            GRADIENTS_OFF.search(dotted(call.func) or "") for call in statement.calls
        )

    def _under_with(self, at: Place, place: Link | None) -> bool:
        return place is not None and any(
            self._turns_off(item.context_expr, at)
            for link in place.chain()
            if isinstance(link.node, (ast.With, ast.AsyncWith))
            for item in link.node.items
        )

    def _turns_off(self, node: ast.expr, at: Place) -> bool:
        if isinstance(node, ast.IfExp):  # `no_grad() if testing else nullcontext()`: this was considered
            return self._turns_off(node.body, at) or self._turns_off(node.orelse, at)
        called = node.func if isinstance(node, ast.Call) else node
        name = dotted(called)
        if name is None:
            return False
        last = name.rpartition(".")[2]
        if turns_gradients_off(node) or last == "set_grad_enabled":
            return True
        if not isinstance(node, ast.Call):
            value = Values.of(self._project).definitions(at).get(name)
            if isinstance(value, ast.Call):
                return self._turns_off(value, at)
        found = CallGraph.of(self._project).called(at, name)
        return found is not None and self._mentions(Place(found[0], found[1]))

    def _mentions(self, at: Place) -> bool:
        node = at.scope.node
        if isinstance(node, ast.Module):
            return False
        last = node.end_lineno or node.lineno
        lines = at.file.source.lines
        return (
            GRADIENTS_OFF.search(at.file.source.text, lines.line_start(node.lineno), lines.line_end(last)) is not None
        )

    # -- callers -----------------------------------------------------------------------------------------------

    def _by_callers(self, at: Place, guesses: int) -> bool:
        """Whether all calls that lead to a function, or one that may lead there, run with gradients off."""
        if isinstance(at.scope.node, ast.Module):
            return False
        open_sites: list[CallSite] = []
        closed = False
        for site in CallGraph.of(self._project).callers(at, Certainty.NAME):
            if site.scope is at.scope:
                continue
            if not (self.over_statement(site.function, site.statement) or self.decorated(site.function)):
                open_sites.append(site)
            elif site.certainty is Certainty.SURE:
                closed = True
            elif guesses:
                return True  # it is uncertain whether it leads here, but if it does, gradients are off
        return self._all_held(open_sites, closed, at.file, guesses)

    def _all_held(self, sites: list[CallSite], closed: bool, file: FileIndex, guesses: int) -> bool:
        """``_by_callers`` for the calls that do not switch gradients off themselves; ``closed``: some do."""
        sure = {site.scope: site.file for site in sites if site.certainty is Certainty.SURE}
        if (sure or closed) and all(self.over_scope(Place(there, caller), guesses) for caller, there in sure.items()):
            return True
        unsure = {site.scope: site.file for site in sites if site.scope not in sure} if guesses else {}
        likely = sorted(unsure.items(), key=lambda item: -_nearness(item[1], file))
        return any(self.over_scope(Place(there, caller), guesses - 1) for caller, there in likely)


def _nearness(file: FileIndex, other: FileIndex) -> int:
    """How many directories from the root on two files share."""
    pairs = zip(file.parts[:-1], other.parts[:-1], strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def is_switched(file: FileIndex) -> bool:
    """Whether a file switches gradients by hand, so that its blocks do not show where they are on."""
    return file.matches(_SWITCHED)


# Finds calls that run a model with gradients on, like ``model(batch)``, and calls that switch it to evaluation.

_NOT_TRAINED = ("paddle.jit.load", "paddle.inference.", "paddle.static.", "paddle.Model", "torch.", "onnxruntime.")
FITTED = ("sklearn", "xgboost", "lightgbm", "torch", "tensorflow", "onnx", "gensim", "jax")
"""Packages whose models Paddle does not train."""


@dataclass(frozen=True)
class Mode:
    """``name.eval()`` or ``name.train()``."""

    name: str
    trains: bool
    statement: Statement


def modes_in(scope: Scope) -> list[Mode]:
    """The mode switches of a function between training and evaluation."""
    return scope.once(modes_in, lambda: _modes(scope))


def _modes(scope: Scope) -> list[Mode]:
    found = []
    for statement in scope.statements:
        for call in statement.calls:
            name = dotted(call.func.value) if isinstance(call.func, ast.Attribute) else None
            last = call.func.attr if isinstance(call.func, ast.Attribute) else ""
            if name and last in ("eval", "train") and not call.args and not call.keywords:
                found.append(Mode(name, last == "train", statement))
    return found


class ModelRuns(Part):
    """Decides which calls of a project run a model."""

    def runs_model(self, at: Place, call: ast.Call) -> bool | None:
        """Whether a call runs a model with gradients on: True if that is certain, False by its name, None if not."""
        name = dotted(call.func)
        if name is None:
            return None
        model = name.removesuffix(".forward")
        if self._evaluates(at, model):
            return None if self._never_trained(at, model) else True
        receiver, _, method = name.rpartition(".")
        handed = CallGraph.of(self._project).handed(at) if receiver in at.scope.parameters else {}
        found = CallGraph.of(self._project).called(at, name, handed or None)
        is_switched = bool(receiver) and self._evaluates(at, receiver)
        if found is not None and found[1].name not in ("forward", "__call__"):
            runs = self._reaches_model(found)
            return True if runs is not None and is_switched else runs
        if is_switched and runs_forward(method) and not self._never_trained(at, receiver):
            return False
        if runs_forward(method) and evaluates(method) and means_model(receiver.rpartition(".")[2]):
            return False  # `self.model.validation_step(batch)` in the step of a trainer
        last = model.rpartition(".")[2]
        if not means_model(last) or makes(last) or self._never_trained(at, model) or self._is_of_others(at, model):
            return None
        return None if at.file.names.is_bound(model.partition(".")[0]) else False  # a class of that name is called

    @query(cycle=None)
    def _reaches_model(self, at: Place) -> bool | None:
        """Whether a helper that gets the batch runs a model with gradients on."""
        if at.scope.name == "__init__" or NoGrad.of(self._project).decorated(at):
            return None
        for statement in at.scope.statements:
            if any(
                self._calls_own_layer(at, call) or self.runs_model(at, call) is not None for call in statement.calls
            ):
                return None if NoGrad.of(self._project).over_statement(at, statement) else False
        return None

    def _calls_own_layer(self, at: Place, call: ast.Call) -> bool:
        """Whether a method of a layer calls ``self(x)``, or a layer in an attribute: ``self.encoder(x)``."""
        name = dotted(call.func) or ""
        if at.scope.owner is None or not (name == "self" or name.startswith("self.")):
            return False
        values = Values.of(self._project)
        mine = values.lasting_kind(at, ast.Name("self", ast.Load()))
        if mine.tag != LAYER_TAG:
            return False
        return name in ("self", "self.forward") or values.lasting_kind(at, call.func).tag == LAYER_TAG

    def _evaluates(self, at: Place, name: str) -> bool:
        """Whether ``.eval()`` is called on a name, or on its value."""
        value = Values.of(self._project).definitions(at).get(name)
        spellings = {name, (dotted(value) if value is not None else None) or name}
        return any(mode.name in spellings and not mode.trains for mode in modes_in(at.scope))

    def _never_trained(self, at: Place, name: str) -> bool:
        """Whether a model is known to have nothing that needs a gradient, or to be another framework's."""
        made = self._made_by(at, name)
        return any(each.startswith(_NOT_TRAINED) or each.partition(".")[0].startswith(FITTED) for each in made)

    def _is_of_others(self, at: Place, name: str) -> bool:
        """Whether a class that is neither the project's nor Paddle's makes a model: ``self.g2p_model = G2pM()``."""
        made = [each for each in self._made_by(at, name) if each.partition(".")[0] in at.file.names.packages]
        imports = Imports.of(self._project)
        return any("paddle" not in each and not any(imports.brought_by(each, at.file)) for each in made)

    def _made_by(self, at: Place, name: str) -> list[str]:
        """The qualified names of the calls whose result a name, or an attribute of the object, may be."""
        definitions = Values.of(self._project).definitions(at)
        values = [definitions[name]] if name in definitions else []
        if name.startswith("self.") and at.scope.owner is not None:
            values += [value for value, _ in at.scope.owner.attributes.get(name[5:], ())]
        made = (dotted(value.func) if isinstance(value, ast.Call) else None for value in values)
        return [at.file.names.resolve(each) for each in made if each]
