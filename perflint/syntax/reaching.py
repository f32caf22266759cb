"""Which assignments a name's value comes from, and whether anything changes the value in place."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from perflint.syntax.names import dotted
from perflint.syntax.scopes import LOOPS, Scope, Statement
from perflint.syntax.tree import base_of, walk

_MUTATORS = frozenset(
    {"append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse", "fill", "update", "add", "setdefault"}
    | {"shuffle", "resize", "put", "popleft", "appendleft"}
)


@dataclass(frozen=True)
class Binding:
    """One statement that binds a name; ``value`` is what it is bound to, unpacked or iterated from (None: unknown)."""

    statement: Statement
    value: ast.expr | None


def before(name: str, at: Statement, scope: Scope) -> list[Binding]:
    """The assignments that may have given a name its value at a statement, the latest first.

    It ends with the first that no branch leaves out.  Empty when the name is bound further down, or elsewhere.
    """
    found: list[Binding] = []
    around = {(link.node, link.branch) for link in at.around}
    for statement in reversed(scope.statements):
        binding = _binding(name, statement) if _precedes(statement, at) else None
        if binding is None:
            continue
        found.append(binding)
        links = statement.around
        if all((link.node, link.branch) in around for link in links):
            break
    return found


def is_bound(name: str, scope: Scope) -> bool:
    """Whether a scope binds a name anywhere."""
    return any(_binding(name, statement) is not None for statement in scope.statements)


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


def _precedes(statement: Statement, at: Statement) -> bool:
    first, second = statement.node, at.node
    return (first.lineno, first.col_offset) < (second.lineno, second.col_offset)


def _binding(name: str, statement: Statement) -> Binding | None:
    for target, value in _bound(statement.node):
        if _holds(target, name):
            unpacked = None if isinstance(statement.node, LOOPS) else _part(target, value, name)
            return Binding(statement, unpacked or value)
    return None


def _part(target: ast.expr, value: ast.expr | None, name: str) -> ast.expr | None:
    """What a name gets of a tuple that is unpacked in place: ``b`` of ``x, y = a, b``."""
    displays = (ast.Tuple, ast.List)
    if not isinstance(target, displays) or not isinstance(value, displays) or len(target.elts) != len(value.elts):
        return None
    return next(part for one, part in zip(target.elts, value.elts, strict=True) if _holds(one, name))


def _bound(node: ast.stmt) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    if isinstance(node, ast.Assign):
        yield from ((target, node.value) for target in node.targets)
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        yield node.target, node.value
    elif isinstance(node, (ast.For, ast.AsyncFor)):
        yield node.target, node.iter
    elif isinstance(node, ast.AugAssign):
        yield node.target, None
    elif isinstance(node, (ast.With, ast.AsyncWith)):
        yield from ((item.optional_vars, None) for item in node.items if item.optional_vars is not None)


def _holds(target: ast.expr, name: str) -> bool:
    if isinstance(target, (ast.Tuple, ast.List)):
        return any(_holds(part, name) for part in target.elts)
    if isinstance(target, ast.Starred):
        return _holds(target.value, name)
    return isinstance(target, ast.Name) and target.id == name
