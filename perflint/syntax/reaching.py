"""Which assignments a name's value comes from, and whether anything changes the value in place."""

from __future__ import annotations

import ast

from perflint.syntax.bindings import Binding, targets_and_values
from perflint.syntax.names import dotted, stored_names
from perflint.syntax.scopes import LOOPS, Scope, Statement
from perflint.syntax.tree import base_of, walk

_MUTATORS = frozenset(
    {"append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse", "fill", "update", "add", "setdefault"}
    | {"shuffle", "resize", "put", "popleft", "appendleft"}
)


def before(name: str, at: Statement, scope: Scope) -> list[Binding]:
    """The assignments that may have given a name its value at a statement, the latest first.

    It ends with the first that no branch leaves out.  Empty when the name is bound further down, or elsewhere.
    """
    found: list[Binding] = []
    around = {(link.node, link.branch) for link in at.around}
    for binding in reversed(_bindings(scope).get(name, ())):
        if binding.statement.start >= at.start:
            continue
        found.append(binding)
        if all((link.node, link.branch) in around for link in binding.statement.around):
            break
    return found


def is_bound(name: str, scope: Scope) -> bool:
    """Whether a scope binds a name anywhere."""
    return name in _bindings(scope)


def is_rebound(name: str, node: ast.AST) -> bool:
    """Whether anything in a piece of code binds a dotted name, its parts or its items."""
    return any(
        isinstance(item, (ast.Name, ast.Attribute, ast.Subscript))
        and isinstance(item.ctx, (ast.Store, ast.Del))
        and (dotted(base_of(item)) == name or dotted(item) == name)
        for item in walk(node)
    )


def is_mutated(name: str, node: ast.AST) -> bool:
    """Whether a piece of code changes what a dotted name holds: an item, ``+=``, ``append`` and their kind."""
    return any(_mutates(item, name) for item in walk(node))


def _mutates(item: ast.AST, name: str) -> bool:
    if isinstance(item, ast.AugAssign):
        return name in (dotted(item.target), dotted(base_of(item.target)))
    if isinstance(item, ast.Subscript):
        return isinstance(item.ctx, (ast.Store, ast.Del)) and dotted(base_of(item)) == name
    # A call whose result is thrown away is made for what it does: `np.fill_diagonal(mask, True)`.
    if isinstance(item, ast.Expr) and isinstance(item.value, ast.Call):
        return dotted(item.value.func) != "print" and any(dotted(argument) == name for argument in item.value.args)
    if isinstance(item, ast.Call) and isinstance(item.func, ast.Attribute) and item.func.attr in _MUTATORS:
        return dotted(item.func.value) == name or any(dotted(argument) == name for argument in item.args)
    return False


def _bindings(scope: Scope) -> dict[str, list[Binding]]:
    """The bindings of each name of a scope, in the order of the statements."""
    return scope.once("bindings", lambda: _look(scope))


def _look(scope: Scope) -> dict[str, list[Binding]]:
    found: dict[str, list[Binding]] = {}
    for statement in scope.statements:
        for name, binding in _bound_by(statement).items():
            found.setdefault(name, []).append(binding)
    return found


def _bound_by(statement: Statement) -> dict[str, Binding]:
    """The names that a statement binds: of several targets with one name, the first counts."""
    node = statement.node
    found: dict[str, Binding] = {}
    for target, value in targets_and_values(node):
        if isinstance(node, ast.AnnAssign) and value is None:
            continue
        for name in stored_names(target):
            unpacked = None if isinstance(node, LOOPS) else _part(target, value, name)
            found.setdefault(name, Binding(statement, unpacked or value))
    return found


def _part(target: ast.expr, value: ast.expr | None, name: str) -> ast.expr | None:
    """What a name gets of a tuple that is unpacked in place: ``b`` of ``x, y = a, b``."""
    displays = (ast.Tuple, ast.List)
    if not isinstance(target, displays) or not isinstance(value, displays) or len(target.elts) != len(value.elts):
        return None
    return next(part for one, part in zip(target.elts, value.elts, strict=True) if name in stored_names(one))
