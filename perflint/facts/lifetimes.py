"""Finds how long a value stored by a step is kept: past the step, until replaced, or in something of limited size."""

from __future__ import annotations

import ast

from perflint.syntax.bindings import bindings_of, bound_by
from perflint.syntax.names import dotted
from perflint.syntax.scopes import Scope, Statement
from perflint.syntax.tree import base_of
from perflint.syntax.vocabulary import is_bounded
from perflint.training.steps import Point, points_of

_MOST_RENEWALS = 256
"""How many statements that recreate one object are checked for being in the loop."""
_EMPTIES = frozenset({"clear", "pop", "popleft", "reset"})


def outlives_the_step(target: ast.expr, point: Point) -> bool:
    """Whether an object is created before the steps and never recreated or emptied by one of them."""
    name = dotted(base_of(target))
    if name is None or _is_bounded(name, point):
        return False
    renewing = [item for item in _renewals(point.scope).get(name, [])[:_MOST_RENEWALS] if item is not point.statement]
    if any(point.loop is None or item.is_in(point.loop) for item in renewing):
        return False
    if name.startswith("self."):
        return point.scope.owner is not None and not _renewed_elsewhere(name, point)
    if point.loop is None:
        return False
    bindings = bindings_of(point.scope).get(name)
    is_bound_before = bindings is not None and bindings[0].node.lineno < point.loop.lineno
    return is_bound_before or name.partition(".")[0] in point.scope.parameters


def keeps_all(method: Scope, name: str) -> bool:
    """Whether an attribute keeps all that a method adds: it is not limited, and the method never resets it."""
    return not _is_bounded_attribute(method, name) and name not in _renewals(method)


def _renewed_elsewhere(name: str, point: Point) -> bool:
    """Whether another method of the class that also runs at each step recreates an attribute."""
    assert point.scope.owner is not None
    for method in point.scope.owner.methods.values():
        for statement in _renewals(method).get(name, ()) if method is not point.scope else ():
            known = points_of(point.file).get(statement.node)
            if known is not None and known.step is not None:
                return True
    return False


def _renewals(scope: Scope) -> dict[str, list[Statement]]:
    """The statements of a scope that bind a name to something new or remove its items, by that name."""
    return scope.once(_renewals, lambda: _by_name(scope))


def _by_name(scope: Scope) -> dict[str, list[Statement]]:
    found: dict[str, list[Statement]] = {}
    for statement in scope.statements:
        for name in dict.fromkeys(_renewed(statement)):
            found.setdefault(name, []).append(statement)
    return found


def _renewed(statement: Statement) -> list[str]:
    """The names that a statement binds to something new, or removes items from."""
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
        return others if own_sum(node) else [*others, *bound]
    return [*filter(None, emptied), *([] if isinstance(node, ast.AugAssign) else bound)]


def _is_bounded(name: str, point: Point) -> bool:
    """Whether a container drops old items: a ``deque(maxlen=...)``, a window."""
    if point.scope.once((_is_bounded, name), lambda: _is_made_bounded(point.scope, name)):
        return True
    return _is_bounded_attribute(point.scope, name)


def _is_bounded_attribute(scope: Scope, name: str) -> bool:
    values = scope.owner.attributes.get(name[5:], []) if scope.owner and name.startswith("self.") else []
    return any(is_bounded(ast.unparse(value)) for value, _ in values)


def _is_made_bounded(scope: Scope, name: str) -> bool:
    nodes = [statement.node for statement in bindings_of(scope).get(name, ())]
    return any(is_bounded(ast.unparse(node.value)) for node in nodes if isinstance(node, ast.Assign))


def own_sum(node: ast.Assign) -> tuple[ast.expr, ast.expr] | None:
    """The target and the summand of a statement like ``total = total + loss``; None for other statements."""
    name = dotted(node.targets[0]) if len(node.targets) == 1 else None
    value = node.value
    if name is None or not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Add):
        return None
    for own, other in ((value.left, value.right), (value.right, value.left)):
        if dotted(own) == name:
            return node.targets[0], other
    return None
