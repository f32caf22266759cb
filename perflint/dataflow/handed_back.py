"""Finds functions that return an argument unchanged: ``def workers(n): ... return n``.

``if n == "auto": n = 2`` leaves a 0 unchanged; ``if n <= 0: n = 4`` does not. An early return under an unknown test,
such as that of the operating system, is another possible result, and does not affect this one.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from perflint.syntax.bindings import bound_by
from perflint.syntax.parameters import all_parameters
from perflint.syntax.scopes import Scope, leaves

_COMPARED: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}


def handed_back(scope: Scope) -> str | None:
    """The parameter that a function returns at its end; None if it ends in another way."""
    body = scope.node.body
    last = body[-1] if body else None
    if not isinstance(last, ast.Return) or not isinstance(last.value, ast.Name):
        return None
    return last.value.id if last.value.id in all_parameters(scope) else None


def comes_back(scope: Scope, name: str, value: object) -> bool:
    """Whether a parameter with this value reaches the end of a function unchanged."""
    return _leaves_alone(scope.node.body, name, value)


def _leaves_alone(body: list[ast.stmt], name: str, value: object) -> bool:
    return all(_keeps(node, name, value) for node in body)


def _keeps(node: ast.stmt, name: str, value: object) -> bool:
    """Whether a statement neither binds a name to something else nor returns something else, as far as it runs."""
    if isinstance(node, ast.If):
        answer = _decided(node.test, name, value)
        if answer is not None:
            return _leaves_alone(node.body if answer else node.orelse, name, value)
        return all(_leaves_alone(block, name, value) or leaves(block) for block in (node.body, node.orelse) if block)
    if isinstance(node, ast.Return):
        return isinstance(node.value, ast.Name) and node.value.id == name
    return isinstance(node, (ast.Assign, ast.AnnAssign, ast.Assert, ast.Expr, ast.Pass)) and name not in bound_by(node)


def _decided(test: ast.expr, name: str, value: object) -> bool | None:
    """The result of a test of a value; None if something else decides, too."""
    if isinstance(test, ast.Name) and test.id == name:
        return bool(value)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        answer = _decided(test.operand, name, value)
        return None if answer is None else not answer
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or type(test.ops[0]) not in _COMPARED:
        return None
    left, right = test.left, test.comparators[0]
    if not (isinstance(left, ast.Name) and left.id == name and isinstance(right, ast.Constant)):
        return None
    try:
        return _COMPARED[type(test.ops[0])](value, right.value)
    except TypeError:
        return None
