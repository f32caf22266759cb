"""Finds loops that keep a moving average of the weights of a network, weight by weight: EMA, momentum encoders."""

from __future__ import annotations

import ast
from typing import NamedTuple

from perflint.facts.parameter_loops import is_over_parameters
from perflint.index.project import FileIndex
from perflint.query import query
from perflint.syntax.parameters import argument_of, arguments_of
from perflint.syntax.scopes import Scope, Statement, own_parts, terminal
from perflint.syntax.tree import walk
from perflint.training.steps import Point

_STORES = frozenset({"assign", "set_value", "copy_"})
_ON_THE_HOST = frozenset({"numpy", "array", "asarray", "item"})


class Average(NamedTuple):
    """One moving average, ``kept * decay + new * (1 - decay)``, with its parts as source text."""

    kept: str
    new: str
    share: str
    """How much of the new weight goes into it: ``1 - decay``."""


def average(point: Point) -> Average | None:
    """The average of weights that a loop at a statement keeps; None if it keeps none on the device."""
    return _averages(point.file, point.scope).get(point.statement.node)


@query
def _averages(file: FileIndex, scope: Scope) -> dict[ast.stmt, Average]:
    """The loops of a function that keep an average of weights."""
    if not any(isinstance(statement.node, ast.For) for statement in scope.statements):
        return {}
    found: dict[ast.stmt, Average] = {}
    for statement in scope.statements:
        loop = statement.loop
        if not isinstance(loop, ast.For) or loop in found:
            continue
        mixed = _mixed(statement, scope)
        if mixed is not None and is_over_parameters(loop.iter, scope):
            found[loop] = mixed
    return found


def _mixed(statement: Statement, scope: Scope) -> Average | None:
    """The average that a statement computes: as a sum of two products, or as ``v *= decay`` and the row after it."""
    node = statement.node
    if isinstance(node, ast.AugAssign):
        return _in_two_rows(statement, scope)
    is_stored = isinstance(node, ast.Assign) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and terminal(node.value) in _STORES
    )
    if not is_stored:
        return None
    items = [item for part in own_parts(node) for item in walk(part)]
    if any(isinstance(item, ast.Call) and terminal(item) in _ON_THE_HOST for item in items):
        return None
    stored = _stored_in(node)
    return next(filter(None, (_of_sum(item, stored) for item in items if isinstance(item, ast.BinOp))), None)


def _stored_in(node: ast.stmt) -> str:
    """The target of ``k.set_value(...)`` and ``paddle.assign(..., k)``; ``""`` for other statements."""
    call = node.value if isinstance(node, ast.Expr) else None
    if not isinstance(call, ast.Call):
        return ""
    if terminal(call) != "assign":
        return ast.unparse(call.func.value) if isinstance(call.func, ast.Attribute) else ""
    into = argument_of(call, "output", 1)
    return ast.unparse(into) if into is not None else ""


def _of_sum(node: ast.BinOp, stored: str) -> Average | None:
    """``kept * decay + new * (1 - decay)``, in any order, whichever part is stored."""
    sides = [_factors(side) for side in (node.left, node.right)] if isinstance(node.op, ast.Add) else []
    for one, other in zip(sides, reversed(sides), strict=True):
        for share, new in (one, one[::-1]) if one else ():
            for decay, kept in (other, other[::-1]) if other else ():
                if _is_rest(share, decay):
                    is_turned = ast.unparse(_with_graph(new)) == stored
                    into, from_, part = (new, kept, decay) if is_turned else (kept, new, share)
                    return Average(*map(ast.unparse, (_with_graph(into), from_, part)))
    return None


def _in_two_rows(statement: Statement, scope: Scope) -> Average | None:
    """``v *= decay``, in the next row ``v += (1 - decay) * new``, and then ``state[k] = v``.

    Tensors of Paddle have no ``__imul__``, so ``v`` is a new tensor: without the last row, no average is kept.
    """
    first = statement.node
    after = [item for item in scope.statements if item.start > statement.start and item.loop is statement.loop]
    second = after[0].node if after else None
    if not (isinstance(first, ast.AugAssign) and isinstance(second, ast.AugAssign)):
        return None
    kept = ast.unparse(first.target)
    if not any(isinstance(item.node, ast.Assign) and ast.unparse(item.node.value) == kept for item in after):
        return None
    is_pair = isinstance(first.op, ast.Mult) and isinstance(second.op, ast.Add) and _same(first.target, second.target)
    factors = _factors(second.value) if is_pair else None
    for share, new in (factors, factors[::-1]) if factors else ():
        if _is_rest(share, first.value):
            return Average(*map(ast.unparse, (first.target, new, share)))
    return None


def _factors(node: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    return (node.left, node.right) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) else None


def _is_rest(share: ast.expr, decay: ast.expr) -> bool:
    """Whether two factors add up to one: ``1 - m`` and ``m``."""
    share, decay = _plain(share), _plain(decay)
    is_difference = isinstance(share, ast.BinOp) and isinstance(share.op, ast.Sub) and _is_one(share.left)
    return is_difference and isinstance(share, ast.BinOp) and _same(_plain(share.right), decay)


def _plain(node: ast.expr) -> ast.expr:
    """An expression without the ``float(...)`` around it."""
    is_cast = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "float"
    given = next(iter(arguments_of(node)), None) if isinstance(node, ast.Call) and is_cast else None
    return given if given is not None else node


def _with_graph(node: ast.expr) -> ast.expr:
    """A weight without a ``.detach()`` after it."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "detach":
        return node.func.value
    return node


def _is_one(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value in (1, 1.0)


def _same(one: ast.expr, other: ast.expr) -> bool:
    return ast.unparse(one) == ast.unparse(other)
