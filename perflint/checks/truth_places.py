"""Where Python asks whether something is true: tests, ``and``/``or``/``not``, ``any(... for ...)``."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

import libcst as cst

from perflint.syntax.decisions import QUANTIFIERS


def is_asked(node: cst.CSTNode, parents: Sequence[cst.CSTNode]) -> bool:
    """Whether the truth of a node is asked for where it stands."""
    inner = node
    for index in range(len(parents) - 1, -1, -1):
        parent = parents[index]
        if isinstance(parent, (cst.If, cst.While, cst.Assert, cst.IfExp, cst.CompIf)):
            return inner is parent.test
        if isinstance(parent, cst.BooleanOperation):
            if inner is parent.left:
                return True
        elif isinstance(parent, cst.UnaryOperation):
            return isinstance(parent.operator, cst.Not)
        elif isinstance(parent, (cst.GeneratorExp, cst.ListComp)):
            return inner is parent.elt and _is_quantified(parents[:index])
        elif not (isinstance(parent, cst.NamedExpr) and inner is parent.value):
            return False
        inner = parent
    return False


def operands(node: ast.expr) -> Iterator[ast.expr]:
    """The expressions that ``and``, ``or`` and ``not`` join."""
    if isinstance(node, ast.BoolOp):
        for value in node.values:
            yield from operands(value)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield from operands(node.operand)
    else:
        yield node


def required(test: ast.expr) -> Iterator[ast.expr]:
    """The parts of a test that all have to hold."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        for value in test.values:
            yield from required(value)
    else:
        yield test


def _is_quantified(parents: Sequence[cst.CSTNode]) -> bool:
    call = parents[-2] if len(parents) > 1 and isinstance(parents[-1], cst.Arg) else None
    return isinstance(call, cst.Call) and isinstance(call.func, cst.Name) and call.func.value in QUANTIFIERS
