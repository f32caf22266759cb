"""Finds which names of a function are used in its backward passes, and which of their graphs an expression carries."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from perflint.dataflow.flow import backward_names, differentiated
from perflint.syntax.bindings import bound_by
from perflint.syntax.names import dotted
from perflint.syntax.parameters import arguments_of
from perflint.syntax.scopes import Loop, Scope
from perflint.syntax.vocabulary import counts_hits, means_loss

CUTS = frozenset(
    {"detach", "detach_", "item", "numpy", "tolist", "float", "int", "bool", "str", "repr", "format", "len", "print"}
    | {"to_tensor", "array", "asarray", "isnan", "isfinite", "isinf", "any", "all", "argmax", "argmin", "isinstance"}
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


def uncut(value: ast.expr) -> list[ast.expr]:
    """The names in an expression whose graph reaches its value: those that are not read or detached."""
    try:
        return list(_carried(value))
    except RecursionError:  # too long a sum: nothing is said about it
        return []


def _carried(value: ast.expr) -> Iterator[ast.expr]:
    """The names in an expression whose graph reaches its value: those that are not read or detached."""
    if isinstance(value, (ast.Name, ast.Attribute)) and dotted(value) is not None:
        if not (isinstance(value, ast.Attribute) and value.attr in HOST_ATTRIBUTES):
            yield value
        return
    if isinstance(value, ast.Call):
        last = value.func.attr if isinstance(value.func, ast.Attribute) else dotted(value.func) or ""
        if last in CUTS:
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


def reads(value: ast.expr) -> bool:
    """Whether an expression ends in a read or a ``detach``: then its value carries no graph."""
    if isinstance(value, ast.Call):
        last = value.func.attr if isinstance(value.func, ast.Attribute) else dotted(value.func) or ""
        return last in CUTS or (isinstance(value.func, ast.Attribute) and reads(value.func.value))
    return isinstance(value, (ast.Subscript, ast.Attribute)) and reads(value.value)
