"""Finds tensors that are shapes and counts, whose values Paddle keeps on the host: ``paddle.shape(x)``."""

from __future__ import annotations

import ast

from perflint.syntax.bindings import targets_and_values
from perflint.syntax.names import dotted, plain_names, stored_names
from perflint.syntax.scopes import Scope
from perflint.syntax.tree import walk
from perflint.training.steps import Point


def is_in_host_memory(node: ast.expr, point: Point) -> bool:
    """Whether a tensor is computed from ``paddle.shape(x)`` and the like, which never leave the host."""
    sources, names = [node], plain_names(node)
    known: set[str] = set()
    bound = point.scope.once(_bound, lambda: _bound(point.scope))
    while names - known:  # back to the definitions of the names: ``h = paddle.shape(x)[2]``, ``pad = -h % size``
        new, known = names - known, names
        made = [value for name in new for value in bound.get(name, ())]
        sources += made
        names = names.union(*map(_names_of_numbers, made))
    return any(_asks_for_a_shape(item, point) for source in sources for item in walk(source))


def _bound(scope: Scope) -> dict[str, list[ast.expr]]:
    """The values that each name of a function is bound to."""
    found: dict[str, list[ast.expr]] = {}
    for statement in scope.statements:
        if isinstance(statement.node, (ast.Assign, ast.For, ast.AsyncFor)):
            pairs = targets_and_values(statement.node)
            for name, value in ((name, value) for target, value in pairs for name in stored_names(target)):
                if value is not None:
                    found.setdefault(name, []).append(value)
    return found


def _names_of_numbers(value: ast.expr) -> set[str]:
    """The names in an arithmetic value; arguments of functions do not count."""
    if any(isinstance(item, ast.Call) for item in walk(value)):
        return set()
    return plain_names(value)


def _asks_for_a_shape(node: ast.AST, point: Point) -> bool:
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Attribute) and node.func.attr in ("numel", "rank") and not node.args:
        return True
    name = point.file.names.resolve(dotted(node.func) or "")
    return name in ("paddle.shape", "paddle.rank", "paddle.numel", "paddle.fluid.layers.shape")
