"""Finds unreachable statements, because an earlier one in the function fails in Paddle.

PyTorch's ``max`` along an axis returns values and indices, Paddle's returns one tensor. So nothing after ``values,
where = paddle.max(x, 2)`` runs, unless ``x`` happens to have two rows.
"""

from __future__ import annotations

import ast

from perflint.syntax.names import dotted
from perflint.syntax.scopes import Scope, Statement
from perflint.training.steps import Point

_ONE_TENSOR = frozenset({"paddle.max", "paddle.min", "paddle.sort"})
_PAIR = 2


def follows_a_failure(point: Point) -> bool:
    """Whether an earlier statement of the function, which always runs before this one, fails."""
    scope = point.scope
    if isinstance(scope.node, ast.Module):
        return False
    resolve = point.file.names.resolve
    return any(
        statement.start < point.statement.start and resolve(called) in _ONE_TENSOR
        for statement, called in scope.once(_pairs, lambda: _pairs(scope))
    )


def _pairs(scope: Scope) -> list[tuple[Statement, str]]:
    """The top-level statements that unpack a pair from a call along an axis, and what they call."""
    outer = (statement for statement in scope.statements if statement.place is None or not any(statement.around))
    return [(statement, called) for statement in outer if (called := _pair_from(statement.node))]


def _pair_from(node: ast.stmt) -> str:
    """``paddle.max`` of ``values, where = paddle.max(x, axis=2)``; ``""`` for any other statement."""
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call) or len(node.targets) != 1:
        return ""
    target, call = node.targets[0], node.value
    is_pair = isinstance(target, ast.Tuple) and len(target.elts) == _PAIR
    has_axis = len(call.args) == _PAIR or any(item.arg == "axis" for item in call.keywords)
    return (dotted(call.func) or "") if is_pair and has_axis else ""
