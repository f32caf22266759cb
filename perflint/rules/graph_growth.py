"""PPF212: a loss that is summed up or stored with its graph, so that memory grows with each step."""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice

from perflint.catalogue import shipped
from perflint.facts.accumulators import keeps_all, outlives_the_step, own_sum
from perflint.facts.gradient_graphs import (
    NoGrad,
    argument_names,
    carried,
    direct,
    feeding_backward,
    gives_counts,
    results_of_calls,
    uncut,
)
from perflint.facts.kept_gradients import notices_detach
from perflint.findings import Confidence, Fix, Level
from perflint.flow.by_statement import differentiated
from perflint.flow.calls import CallGraph
from perflint.flow.evaluate import Evaluator
from perflint.flow.surely import Surely
from perflint.flow.values import Values
from perflint.index.project import FileIndex, Place
from perflint.lint.context import Context
from perflint.lint.registry import At, rule
from perflint.lint.statement_code import Instead
from perflint.paddle.tensor_methods import READ_METHODS
from perflint.rules.edits import call_in
from perflint.syntax.bindings import bindings_of
from perflint.syntax.names import dotted
from perflint.syntax.parameters import argument_for, argument_of, arguments_of
from perflint.syntax.scopes import Scope
from perflint.syntax.tree import base_of, walk
from perflint.training.steps import Point, of_point, points_of

# Finds values that keep the graph of each training step alive: a loss summed up or stored with its gradient.

STORES = frozenset({"append", "add", "update", "extend", "insert", "push", "record", "log"})
_APPENDS = frozenset({"append", "extend", "add"})
_MOST_BESIDE = 200
"""How many statements of the step are examined because of one next to them."""
_OF_TENSORS = READ_METHODS | {"detach"}
_CONTAINERS = frozenset({"dict", "list", "tuple", "set"})
RULE = shipped()["PPF212"]


@dataclass(frozen=True)
class Growth:
    """A statement that stores a graph at each step.

    ``names``: the names in it whose graph is kept.
    ``sure``: ``backward`` is called on each of them, not only on a sum that contains them.
    ``may_be_numbers``: on some path, one of them is no tensor, and so has no ``detach``.
    ``seen``: why a tensor without its graph may be noticed, ``""`` if it is not.
    """

    names: tuple[ast.expr, ...]
    sure: bool
    may_be_numbers: bool
    seen: str = ""


@of_point
def growth(point: Point) -> Growth | None:
    """What a statement at a training step adds to an object that lives longer than it; None if it adds no graph."""
    carriers = _Carriers(point)
    own = _stored_graph(point, carriers, carriers.within)
    stored = own or _stored_graph(point, carriers, carriers.beside_a_loss)
    if stored is None or (own is None and not _is_beside_growth(point)):
        return None
    (target, names), surely = stored, Surely.of(point.file.project)
    sure = own is not None and all(map(carriers.is_differentiated, names))
    may_be_numbers = not all(surely.is_tensor(name, point.function) for name in names)
    return Growth(names, sure, may_be_numbers, _seen(point, target, names))


def _stored_graph(
    point: Point, carriers: _Carriers, carrying: Callable[[ast.expr], Iterator[ast.expr]]
) -> tuple[ast.expr, tuple[ast.expr, ...]] | None:
    """What a statement adds to, and the names whose graph it adds."""
    node = point.statement.node
    if not isinstance(node, (ast.AugAssign, ast.Assign, ast.Expr)) or point.file.is_static:
        return None
    stored = _stored(point, node)
    if stored is None:
        return None
    target, value, call = stored
    names = tuple(carrying(value))
    if not names or carriers.feeds_backward(target):
        return None
    if call is None and NoGrad.of(point.file.project).over_statement(point.function, point.statement):
        return None
    return (target, names) if not _is_number(value, point) and outlives_the_step(target, point) else None


def _is_number(value: ast.expr, point: Point) -> bool:
    """Whether a helper has made the added value a number; a copy on the host (``loss.cpu()``) still has its graph."""
    copies = any(isinstance(item, ast.Attribute) and item.attr in ("cpu", "pin_memory") for item in walk(value))
    return not copies and Evaluator(point.file, point.env).kind(value).is_host


def _is_beside_growth(point: Point) -> bool:
    """Whether another statement of the same step stores the graph of the loss."""
    points = (points_of(point.file).get(item.node) for item in point.scope.statements if item is not point.statement)
    beside = (other for other in points if other is not None and other.step is not None and other.loop is point.loop)
    examined = ((other, _Carriers(other)) for other in islice(beside, _MOST_BESIDE))
    return any(_stored_graph(other, carriers, carriers.within) is not None for other, carriers in examined)


def _seen(point: Point, target: ast.expr, names: tuple[ast.expr, ...]) -> str:
    if point.scope.once(_retains, lambda: _retains_graphs(point.scope)):
        return RULE.texts["wanted"]
    handed = _handed_to(point, target, names)
    if handed:
        return RULE.texts["handed"].format(name=handed)
    name = dotted(base_of(target))
    return notices_detach(point.function, name) if name is not None else ""


def _handed_to(point: Point, target: ast.expr, names: tuple[ast.expr, ...]) -> str:
    """What gets the tensor on the way to where it is stored, and may show it: `partial` of ``partial(print, loss)``."""
    for call in point.statement.calls:
        called = dotted(call.func) or ""
        is_store = isinstance(call.func, ast.Attribute) and ast.dump(call.func.value) == ast.dump(target)
        if is_store or called in _CONTAINERS or point.file.names.resolve(called).startswith("paddle."):
            continue
        if any(item in names for argument in arguments_of(call) for item in walk(argument)):
            return called.rpartition(".")[2] or "a call"
    return ""


def _retains_graphs(scope: Scope) -> bool:
    backward = (call for call in scope.calls if isinstance(call.func, ast.Attribute) and call.func.attr == "backward")
    return any(map(_retains, backward))


def _retains(call: ast.Call) -> bool:
    given = argument_of(call, "retain_graph", 1)
    return given is not None and not (isinstance(given, ast.Constant) and not given.value)


def _stored(point: Point, node: ast.stmt) -> tuple[ast.expr, ast.expr, ast.Call | None] | None:
    """Target, value and call of a statement that adds a value to something."""
    added = _added(node)
    if not isinstance(node, ast.Expr):
        return (*added, None) if added is not None else None
    call = node.value
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr not in STORES:
        return None
    found = CallGraph.of(point.file.project).called(point.function, call.func, point.env)
    if found is not None:
        kept = _kept_by_method(call, found.file, found.scope)
        return (call.func.value, kept, call) if kept is not None else None
    # Meters have an `add` too, and may read their argument: a set has to be recognizable as one.
    is_known = call.func.attr != "add" or _is_set(_definition(call.func.value, point))
    return (*added, call) if added is not None and is_known else None


def _definition(receiver: ast.expr, point: Point) -> ast.expr | None:
    name = dotted(receiver)
    return Values.of(point.file.project).definitions(point.function).get(name) if name else None


def _is_set(value: ast.expr | None) -> bool:
    return isinstance(value, (ast.Set, ast.SetComp)) or (isinstance(value, ast.Call) and dotted(value.func) == "set")


def _kept_by_method(call: ast.Call, file: FileIndex, method: Scope) -> ast.expr | None:
    """The argument that a method of the project adds to one of its attributes unchanged."""
    if method.owner is None or method.is_static or NoGrad.of(file.project).decorated(Place(file, method)):
        return None
    for parameter in method.parameters:
        argument = argument_for(method, call, parameter)
        if argument is not None and _adds_up(file, method, parameter):
            return argument
    return None


def _adds_up(file: FileIndex, method: Scope, parameter: str) -> bool:
    """Whether a method adds a parameter to an attribute without reading, detaching or rebinding it."""
    if parameter in bindings_of(method):
        return False
    for statement in method.statements:
        target, value = _added(statement.node) or (None, None)
        name = dotted(target) if target is not None else None
        if value is None or name is None or not name.startswith("self."):
            continue
        if parameter in map(dotted, uncut(value)) and keeps_all(method, name):
            return not NoGrad.of(file.project).over_statement(Place(file, method), statement)
    return False


def _added(node: ast.stmt) -> tuple[ast.expr, ast.expr] | None:
    """Target and value of a statement that adds something up or appends it."""
    if isinstance(node, ast.AugAssign):
        return (node.target, node.value) if isinstance(node.op, ast.Add) else None
    if isinstance(node, ast.Assign):
        return own_sum(node)
    call = call_in(node)
    if call is not None and isinstance(call.func, ast.Attribute) and len(call.args) == 1:
        return (call.func.value, call.args[0]) if call.func.attr in _APPENDS and not call.keywords else None
    return None


class _Carriers:
    """Finds the names that carry the graph of a step at one statement."""

    def __init__(self, point: Point) -> None:
        self._point = point
        self.differentiated = differentiated(point.scope)
        self.direct = direct(point.scope)

    def within(self, value: ast.expr) -> Iterator[ast.expr]:
        """The places in an expression through which a graph gets into its value."""
        for name in uncut(value):
            spelled = dotted(name) or ""
            if not self._is_cut(spelled) and (spelled in self.direct or self._is_returned(spelled)):
                yield name

    def beside_a_loss(self, value: ast.expr) -> Iterator[ast.expr]:
        """The places where the graph of a metric may get into a value: computed from the same as the loss."""
        made_of = {name for loss in self.direct for call in self._calls_of(loss) for name in argument_names(call)}
        for name in uncut(value):
            spelled = dotted(name) or ""
            calls = [] if self._is_cut(spelled) or spelled in self.direct else self._calls_of(spelled)
            if any(made_of & argument_names(call) and not gives_counts(call) for call in calls) and self._is_read(
                spelled
            ):
                yield name

    def _calls_of(self, name: str) -> list[ast.Call]:
        """The calls at this step whose result a name is bound to directly."""
        return [
            statement.node.value
            for statement in self._point.scope.statements
            if isinstance(statement.node, ast.Assign)
            and isinstance(statement.node.value, ast.Call)
            and [dotted(target) for target in statement.node.targets] == [name]
            and self._point.loop is not None
            and statement.is_in(self._point.loop)
        ]

    def _is_read(self, name: str) -> bool:
        """Whether a value is shown to be a tensor: ``metric.item()``."""
        return any(
            isinstance(call.func, ast.Attribute) and call.func.attr in _OF_TENSORS and dotted(call.func.value) == name
            for call in self._point.scope.calls
        )

    def is_differentiated(self, node: ast.expr) -> bool:
        """Whether ``backward`` is called on a name, here or in the function that returned it."""
        name = dotted(node) or ""
        return name in self.differentiated or (name not in self.direct and self._is_returned(name))

    def _is_cut(self, name: str) -> bool:
        """Whether the name is bound, between the backward pass and here, to something without a graph."""
        bindings = bindings_of(self._point.scope).get(name, [])
        before = bisect_left(bindings, self._point.statement.node.lineno, key=lambda item: item.node.lineno)
        last = bindings[before - 1].node if before else None
        if isinstance(last, ast.Assign):
            return not any(True for _ in carried(last.value))
        return isinstance(last, (ast.For, ast.AsyncFor))

    def _is_returned(self, name: str) -> bool:
        """Whether the name is bound at this step to a result that its function has differentiated."""
        results = results_of_calls(self._point.scope)
        loops = (self._point.statement.loop, self._point.loop)
        given = [results[name, loop] for loop in loops if (name, loop) in results]
        node, position = min(given, key=lambda item: item[0].lineno, default=(None, None))
        if node is None or node.lineno >= self._point.statement.node.lineno or not isinstance(node.value, ast.Call):
            return False
        return self._returns_graph(node.value, position)

    def _returns_graph(self, call: ast.Call, position: int | None) -> bool:
        point = self._point
        found = CallGraph.of(point.file.project).called(point.function, call.func, point.env)
        if found is None or NoGrad.of(found.file.project).decorated(found):
            return False
        returned = [each.node for each in found.scope.statements if isinstance(each.node, ast.Return)]
        names = [_returned_name(node, position) for node in returned]
        return bool(names) and all(name in differentiated(found.scope) for name in names)

    def feeds_backward(self, target: ast.expr) -> bool:
        """Whether the sum itself goes into a backward pass: then its graph is needed."""
        name = dotted(target.value if isinstance(target, ast.Subscript) else target)
        return name is None or name in feeding_backward(self._point.scope)


def _returned_name(node: ast.Return, position: int | None) -> str | None:
    value = node.value
    if position is not None:
        if not isinstance(value, ast.Tuple) or position >= len(value.elts):
            return None
        value = value.elts[position]
    return dotted(value) if value is not None else None


# PPF212: a loss that is summed up or stored with its graph, so that memory grows at each step.


def _growth(point: Point) -> Growth | None:
    node = point.statement.node
    if point.step is None or point.step.forward:
        return None
    call = call_in(node)
    is_store = call is not None and isinstance(call.func, ast.Attribute) and call.func.attr in STORES
    return growth(point) if is_store or isinstance(node, (ast.AugAssign, ast.Assign)) else None


def _growing(point: Point) -> Iterator[tuple[ast.AST, Growth]]:
    node, found = point.statement.node, _growth(point)
    if found is not None:
        yield node.value if isinstance(node, ast.Expr) else node, found


@rule(RULE.code, at=At.STEP, find_at=_growing, claims=False, heeds_claims=False)
def graph_grows(found: Growth, context: Context) -> None:
    """Report a statement that adds the graph of a step to something that lives longer than the step."""
    names = ", ".join(dict.fromkeys(ast.unparse(name) for name in found.names))
    confidence = Confidence.HIGH if found.sure else Confidence.MEDIUM
    context.report(_fix(found, context), confidence=confidence, name=names)


def _fix(found: Growth, context: Context) -> Fix:
    plain = RULE.texts["plain"] if found.may_be_numbers else ""
    reason = "; ".join(filter(None, (plain, found.seen)))
    level = Level.UNSAFE if reason else Level.SAFE
    edits = context.edits(*(Instead(name, f"{context.text(name)}.detach()") for name in found.names))
    return replace(RULE.words("detach"), edits=edits, level=level, reason=reason)
