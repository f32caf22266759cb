"""Values that keep the graph of every training step alive: a loss that is summed up or stored with its gradient."""

from __future__ import annotations

import ast
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from perflint.dataflow.flow import backward_names, is_loss_name
from perflint.dataflow.values import Values
from perflint.facts.gradients_off import NoGrad
from perflint.facts.kept_gradients import is_printed
from perflint.index.project import FileIndex
from perflint.syntax.bindings import bindings_of, bound_by
from perflint.syntax.names import dotted
from perflint.syntax.parameters import argument_for
from perflint.syntax.scopes import Loop, Scope, Statement
from perflint.training.steps import Point, points_of

STORES = frozenset({"append", "add", "update", "extend", "insert", "push", "record", "log"})
_APPENDS = frozenset({"append", "extend", "add"})
# What gives a tensor without a graph, or a number.
_CUTS = frozenset(
    {"detach", "detach_", "item", "numpy", "tolist", "float", "int", "bool", "str", "repr", "format", "len", "print"}
    | {"to_tensor", "array", "asarray", "isnan", "isfinite", "isinf", "any", "all", "equal", "argmax", "isinstance"}
)
_HOST_ATTRIBUTES = frozenset({"shape", "dtype", "ndim", "size", "name", "data", "place", "stop_gradient", "grad"})
_MOST_RENEWALS = 256
"""Statements that make one object anew of which each is asked whether it is in the loop."""
_MOST_BESIDE = 200
"""Statements of the step that are looked at for the sake of one beside them."""
_EMPTIES = frozenset({"clear", "pop", "popleft", "reset"})
_BOUNDED = re.compile(r"deque|Queue|SmoothedValue|Window", re.IGNORECASE)
_COUNTS = re.compile(r"acc|precision|recall|f1|auc|top_?k|correct|iou|confusion|hit|rank", re.IGNORECASE)
_WANTED = "with `retain_graph` somebody may still go through the graph that is kept"
_PRINTED = "a tensor that is printed says `stop_gradient=True` then"


@dataclass(frozen=True)
class Growth:
    """A statement that stores a graph at each step.

    ``names``: the names in it whose graph is kept.
    ``sure``: ``backward`` is called on each of them, and not only on a sum that they are part of.
    ``seen``: why somebody may tell the tensor without its graph from the one with it, ``""`` where nobody does.
    """

    names: tuple[ast.expr, ...]
    sure: bool
    seen: str = ""


def growth(point: Point) -> Growth | None:
    """What a statement at a training step adds to an object that outlives the step; None where it adds no graph."""
    carriers = _Carriers(point)
    stored = _stored_graph(point, carriers, carriers.within)
    if stored is None:
        stored = _stored_graph(point, carriers, carriers.beside_a_loss)
        return None if stored is None or not _is_beside_growth(point) else Growth(stored[1], False)
    target, names = stored
    sure = all(carriers.is_differentiated(name) for name in names)
    return Growth(names, sure, _seen(point, target))


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
    if call is None and NoGrad.of(point.file.project).over_statement(point.file, point.scope, point.statement):
        return None
    return (target, names) if _outlives_the_step(target, point) else None


def _is_beside_growth(point: Point) -> bool:
    """Whether another statement of the same step stores the graph of the loss."""
    points = (points_of(point.file).get(item.node) for item in point.scope.statements if item is not point.statement)
    beside = (other for other in points if other is not None and other.step is not None and other.loop is point.loop)
    for other in islice(beside, _MOST_BESIDE):
        carriers = _Carriers(other)
        if _stored_graph(other, carriers, carriers.within) is not None:
            return True
    return False


def _seen(point: Point, target: ast.expr) -> str:
    if point.scope.once(_retains, lambda: _retains_graphs(point.scope)):
        return _WANTED
    base = target
    while isinstance(base, ast.Subscript):
        base = base.value
    name = dotted(base)
    return _PRINTED if name is not None and is_printed(point.file, point.scope, name) else ""


def _retains_graphs(scope: Scope) -> bool:
    calls = (call for statement in scope.statements for call in statement.calls)
    return any(
        isinstance(call.func, ast.Attribute) and call.func.attr == "backward" and _retains(call) for call in calls
    )


def _retains(call: ast.Call) -> bool:
    given = [keyword.value for keyword in call.keywords if keyword.arg == "retain_graph"] + call.args[1:2]
    return any(not (isinstance(value, ast.Constant) and not value.value) for value in given)


def _stored(point: Point, node: ast.stmt) -> tuple[ast.expr, ast.expr, ast.Call | None] | None:
    """Target, value and call of a statement that adds a value to something."""
    if not isinstance(node, ast.Expr):
        added = _added(node)
        return (*added, None) if added is not None else None
    call = node.value
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr not in STORES:
        return None
    receiver = call.func.value
    found = Values.of(point.file.project).callee(point.file, point.scope, dotted(call.func) or "", point.env)
    if found is None:
        plain = call.func.attr in _APPENDS and len(call.args) == 1 and not call.keywords
        # Meters have an `add` too, and may read what they are given: a set has to look like one.
        known = call.func.attr != "add" or _is_set(_definition(receiver, point))
        return (receiver, call.args[0], call) if plain and known else None
    kept = _kept_by_method(call, *found)
    return (receiver, kept, call) if kept is not None else None


def _definition(receiver: ast.expr, point: Point) -> ast.expr | None:
    name = dotted(receiver)
    return Values.of(point.file.project).definitions(point.file, point.scope).get(name) if name else None


def _is_set(value: ast.expr | None) -> bool:
    return isinstance(value, (ast.Set, ast.SetComp)) or (isinstance(value, ast.Call) and dotted(value.func) == "set")


def _own_sum(node: ast.Assign) -> tuple[ast.expr, ast.expr] | None:
    """``total = total + loss``."""
    name = dotted(node.targets[0]) if len(node.targets) == 1 else None
    value = node.value
    if name is None or not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Add):
        return None
    for own, other in ((value.left, value.right), (value.right, value.left)):
        if dotted(own) == name:
            return node.targets[0], other
    return None


# -- meters ----------------------------------------------------------------------------------------------------------


def _kept_by_method(call: ast.Call, file: FileIndex, method: Scope) -> ast.expr | None:
    """The argument that a method of the project adds to one of its attributes as it is."""
    if method.owner is None or method.is_static or NoGrad.of(file.project).decorated(file, method):
        return None
    for parameter in method.parameters:
        argument = argument_for(method, call, parameter)
        if argument is not None and _adds_up(file, method, parameter):
            return argument
    return None


def _adds_up(file: FileIndex, method: Scope, parameter: str) -> bool:
    """Whether a method adds a parameter to an attribute without reading or detaching it, or binding it anew."""
    if parameter in bindings_of(method):
        return False
    for statement in method.statements:
        added = _added(statement.node)
        name = dotted(added[0]) if added is not None else None
        if added and name and name.startswith("self.") and parameter in map(dotted, _uncut(added[1])):
            values = method.owner.attributes.get(name[5:], []) if method.owner else []
            if not any(_BOUNDED.search(ast.unparse(item)) for item, _ in values) and not _emptied(method, name):
                return not NoGrad.of(file.project).over_statement(file, method, statement)
    return False


def _added(node: ast.stmt) -> tuple[ast.expr, ast.expr] | None:
    """Target and value of a statement that adds something up or appends it."""
    if isinstance(node, ast.AugAssign):
        return (node.target, node.value) if isinstance(node.op, ast.Add) else None
    if isinstance(node, ast.Assign):
        return _own_sum(node)
    call = node.value if isinstance(node, ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and len(call.args) == 1:
        return (call.func.value, call.args[0]) if call.func.attr in _APPENDS and not call.keywords else None
    return None


def _emptied(scope: Scope, name: str) -> bool:
    emptying = {f"{name}.{method}" for method in _EMPTIES}
    return any(dotted(call.func) in emptying for statement in scope.statements for call in statement.calls)


# -- graphs ----------------------------------------------------------------------------------------------------------


class _Carriers:
    """The names that carry the graph of a step at one statement."""

    def __init__(self, point: Point) -> None:
        self._point = point
        self.differentiated = _differentiated(point.scope)
        self.direct = _direct(point.scope)

    def within(self, value: ast.expr) -> Iterator[ast.expr]:
        """The places in an expression where a graph gets into its value."""
        for name in _uncut(value):
            spelled = dotted(name) or ""
            if not self._is_cut(spelled) and (spelled in self.direct or self._is_returned(spelled)):
                yield name

    def beside_a_loss(self, value: ast.expr) -> Iterator[ast.expr]:
        """The places where the graph of a metric may get into a value: it is made of what the loss is made of."""
        made_of = {name for loss in self.direct for call in self._calls_of(loss) for name in _arguments(call)}
        for name in _uncut(value):
            spelled = dotted(name) or ""
            calls = [] if self._is_cut(spelled) or spelled in self.direct else self._calls_of(spelled)
            if any(made_of & _arguments(call) and not _gives_counts(call) for call in calls) and self._is_read(spelled):
                yield name

    def _calls_of(self, name: str) -> list[ast.Call]:
        """The calls at this step whose result a name is bound to as it is."""
        return [
            statement.node.value
            for statement in self._point.scope.statements
            if isinstance(statement.node, ast.Assign)
            and isinstance(statement.node.value, ast.Call)
            and [dotted(target) for target in statement.node.targets] == [name]
            and self._point.loop is not None
            and _inside(statement, self._point.loop)
        ]

    def _is_read(self, name: str) -> bool:
        """Whether a value is shown to be a tensor: ``metric.item()``."""
        return any(
            isinstance(call.func, ast.Attribute)
            and call.func.attr in ("item", "numpy", "detach")
            and dotted(call.func.value) == name
            for statement in self._point.scope.statements
            for call in statement.calls
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
            return _reads(last.value)
        return isinstance(last, (ast.For, ast.AsyncFor))

    def _is_returned(self, name: str) -> bool:
        """Whether the name is bound at this step to a result that its function has differentiated."""
        results = _results(self._point.scope)
        loops = (self._point.statement.loop, self._point.loop)
        given = [results[name, loop] for loop in loops if (name, loop) in results]
        if not given:
            return False
        node, position = min(given, key=lambda item: item[0].lineno)
        call = node.value
        if node.lineno >= self._point.statement.node.lineno or not isinstance(call, ast.Call):
            return False
        return self._returns_graph(call, position)

    def _returns_graph(self, call: ast.Call, position: int | None) -> bool:
        point, name = self._point, dotted(call.func)
        found = Values.of(point.file.project).callee(point.file, point.scope, name, point.env) if name else None
        if found is None or isinstance(found[1].node, ast.Module):
            return False
        file, scope = found
        if NoGrad.of(file.project).decorated(file, scope):
            return False
        returned = [statement.node for statement in scope.statements if isinstance(statement.node, ast.Return)]
        names = [_returned_name(node, position) for node in returned]
        return bool(names) and all(name in _differentiated(scope) for name in names)

    def feeds_backward(self, target: ast.expr) -> bool:
        """Whether the sum itself goes into a backward pass: then its graph is what it is for."""
        name = dotted(target)
        if name is None:
            base = target.value if isinstance(target, ast.Subscript) else None
            name = dotted(base) if base is not None else None
        if name is None:
            return True
        return name in _feeding(self._point.scope)


def _direct(scope: Scope) -> frozenset[str]:
    """Names that a scope calls ``backward`` on, and the parts that they are added up from."""
    return scope.once(_direct, lambda: _differentiated(scope) | _parts(scope, _differentiated(scope)))


def _by_name(scope: Scope, names: Callable[[Statement], Iterable[str]]) -> dict[str, list[Statement]]:
    found: dict[str, list[Statement]] = {}
    for statement in scope.statements:
        for name in dict.fromkeys(names(statement)):
            found.setdefault(name, []).append(statement)
    return found


def _results(scope: Scope) -> dict[tuple[str, Loop | None], tuple[ast.Assign, int | None]]:
    """The first call that each name is bound to in each loop: the statement, and the place in the tuple it gives."""
    return scope.once(_results, lambda: _first_results(scope))


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


def _feeding(scope: Scope) -> frozenset[str]:
    """Names whose value goes into a backward pass, be it through others that are worked out from them."""
    return scope.once(_feeding, lambda: _worked_back(scope))


def _worked_back(scope: Scope) -> frozenset[str]:
    feeding = set(_direct(scope) | backward_names(scope))
    for statement in scope.statements:
        for call in statement.calls:
            if isinstance(call.func, ast.Attribute) and call.func.attr == "backward":
                feeding.update(filter(None, map(dotted, _uncut(call.func.value))))
    for statement in reversed(scope.statements):
        node = statement.node
        if isinstance(node, ast.Assign) and not feeding.isdisjoint(bound_by(node)):
            feeding.update(filter(None, map(dotted, _uncut(node.value))))
    return frozenset(feeding)


def _differentiated(scope: Scope) -> frozenset[str]:
    """Names that a scope calls ``backward`` on, itself or through a loss scaler or an optimizer."""
    return scope.once(_differentiated, lambda: _backward_calls(scope))


def _backward_calls(scope: Scope) -> frozenset[str]:
    found: set[str] = set()
    for statement in scope.statements:
        for call in statement.calls:
            if not isinstance(call.func, ast.Attribute):
                continue
            if call.func.attr == "backward":
                found.update(filter(None, [dotted(call.func.value), *map(dotted, call.args[:1])]))
            elif call.func.attr == "minimize" or (call.func.attr == "scale" and _is_scaler(call.func.value)):
                found.update(filter(None, map(dotted, call.args[:1])))
    return frozenset(found - {"self"})


def _arguments(call: ast.Call) -> set[str]:
    """The plain names among the arguments of a call."""
    given = (*call.args, *(keyword.value for keyword in call.keywords))
    return {argument.id for argument in given if isinstance(argument, ast.Name)}


def _gives_counts(call: ast.Call) -> bool:
    """Whether a function is one of those that count what is right, and so give no gradient."""
    return bool(_COUNTS.search((dotted(call.func) or "").rpartition(".")[2]))


def _is_scaler(node: ast.expr) -> bool:
    return "scaler" in (dotted(node) or "").lower()


def _parts(scope: Scope, differentiated: frozenset[str]) -> frozenset[str]:
    """The losses that are weighed and added up into one that ``backward`` is called on."""
    found: set[str] = set()
    for statement in scope.statements:
        node = statement.node
        if isinstance(node, (ast.Assign, ast.AugAssign)) and differentiated & set(bound_by(node)):
            found.update(name for name in _terms(node.value) if is_loss_name(name))
    return frozenset(found)


def _terms(value: ast.expr) -> Iterator[str]:
    """The names that an arithmetic expression is made of: a loop, since sums of a thousand terms are written."""
    waiting = [value]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.BinOp):
            waiting += (node.right, node.left)
        elif isinstance(node, ast.Name):
            yield node.id


def _uncut(value: ast.expr) -> list[ast.expr]:
    """The names in an expression whose graph reaches its value: those that nothing reads or detaches."""
    try:
        return list(_carried(value))
    except RecursionError:  # a sum of a thousand terms: nothing is said of it
        return []


def _carried(value: ast.expr) -> Iterator[ast.expr]:
    """The names in an expression whose graph reaches its value: those that nothing reads or detaches."""
    if isinstance(value, (ast.Name, ast.Attribute)) and dotted(value) is not None:
        if not (isinstance(value, ast.Attribute) and value.attr in _HOST_ATTRIBUTES):
            yield value
        return
    if isinstance(value, ast.Call):
        last = value.func.attr if isinstance(value.func, ast.Attribute) else dotted(value.func) or ""
        if last in _CUTS:
            return
        if isinstance(value.func, ast.Attribute) and dotted(value.func.value) is not None:
            yield from _carried(value.func.value)
        for argument in value.args:
            yield from _carried(argument)
        return
    if isinstance(value, ast.BinOp):
        yield from _carried(value.left)
        yield from _carried(value.right)
    elif isinstance(value, ast.UnaryOp):
        yield from _carried(value.operand)
    elif isinstance(value, (ast.Tuple, ast.List)):
        for part in value.elts:
            yield from _carried(part)


def _reads(value: ast.expr) -> bool:
    """Whether an expression ends in a read or a ``detach``: its value carries no graph, whatever it is made of."""
    if isinstance(value, ast.Call):
        last = value.func.attr if isinstance(value.func, ast.Attribute) else dotted(value.func) or ""
        return last in _CUTS or (isinstance(value.func, ast.Attribute) and _reads(value.func.value))
    return isinstance(value, (ast.Subscript, ast.Attribute)) and _reads(value.value)


def _returned_name(node: ast.Return, position: int | None) -> str | None:
    value = node.value
    if position is not None:
        if not isinstance(value, ast.Tuple) or position >= len(value.elts):
            return None
        value = value.elts[position]
    return dotted(value) if value is not None else None


# -- lifetimes -------------------------------------------------------------------------------------------------------


def _outlives_the_step(target: ast.expr, point: Point) -> bool:
    """Whether an object is made before the steps and never made anew, or emptied, by one of them."""
    base = target
    while isinstance(base, ast.Subscript):
        base = base.value
    name = dotted(base)
    if name is None or _is_bounded(name, point):
        return False
    renewing = [item for item in _renewals(point.scope).get(name, [])[:_MOST_RENEWALS] if item is not point.statement]
    if any(point.loop is None or _inside(item, point.loop) for item in renewing):
        return False
    if name.startswith("self."):
        return point.scope.owner is not None and not _renewed_elsewhere(name, point)
    if point.loop is None:
        return False
    bindings = bindings_of(point.scope).get(name)
    is_bound_before = bindings is not None and bindings[0].node.lineno < point.loop.lineno
    return is_bound_before or name.partition(".")[0] in point.scope.parameters


def _inside(statement: Statement, loop: Loop) -> bool:
    place = statement.place
    return place is not None and any(link.node is loop and link.branch == "body" for link in place.chain())


def _renewed_elsewhere(name: str, point: Point) -> bool:
    """Whether another method of the class, which runs at each step too, makes an attribute anew."""
    assert point.scope.owner is not None
    for method in point.scope.owner.methods.values():
        for statement in _renewals(method).get(name, ()) if method is not point.scope else ():
            known = points_of(point.file).get(statement.node)
            if known is not None and known.step is not None:
                return True
    return False


def _renewals(scope: Scope) -> dict[str, list[Statement]]:
    """The statements of a scope that bind a name to something new or take out what is in it, by that name."""
    return scope.once(_renewals, lambda: _by_name(scope, _renewed))


def _renewed(statement: Statement) -> list[str]:
    """The names that a statement binds to something new, or takes something out of."""
    node = statement.node
    if isinstance(node, ast.Delete):
        deleted = [target.value if isinstance(target, ast.Subscript) else target for target in node.targets]
        return [name for name in map(dotted, deleted) if name]
    emptied = [
        dotted(call.func.value)
        for call in statement.calls
        if isinstance(call.func, ast.Attribute) and call.func.attr in _EMPTIES
    ]
    bound = bound_by(node)
    if isinstance(node, ast.Assign):
        items = [dotted(target.value) for target in node.targets if isinstance(target, ast.Subscript)]
        others = [name for name in (*items, *emptied) if name and name not in bound]
        return others if _own_sum(node) else [*others, *bound]
    return [*filter(None, emptied), *([] if isinstance(node, ast.AugAssign) else bound)]


def _is_bounded(name: str, point: Point) -> bool:
    """Whether a container drops what is old: a ``deque(maxlen=...)``, a window."""
    if point.scope.once((_is_bounded, name), lambda: _is_made_bounded(point.scope, name)):
        return True
    owner = point.scope.owner if name.startswith("self.") else None
    values = owner.attributes.get(name[5:], []) if owner is not None else []
    return any(_BOUNDED.search(ast.unparse(value)) for value, _ in values)


def _is_made_bounded(scope: Scope, name: str) -> bool:
    nodes = [statement.node for statement in bindings_of(scope).get(name, ())]
    return any(_BOUNDED.search(ast.unparse(node.value)) for node in nodes if isinstance(node, ast.Assign))
