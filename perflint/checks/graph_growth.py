"""PPF212: a loss that is summed up or stored with its graph, so that memory grows at each step."""

from __future__ import annotations

import ast

import libcst as cst

from perflint.facts.growing_graphs import STORES, Growth, growth
from perflint.findings import Confidence, Edit, Fix, Level
from perflint.lint.context import Context
from perflint.lint.registry import check, step_gate
from perflint.training.steps import Point

CODE = "PPF212"
_TITLE = "keep the value without its graph: `.detach()`"
_PLAIN = "a part of the loss that is a plain number at some steps has no `detach`"


def _growth(point: Point) -> Growth | None:
    node = point.statement.node
    if point.step is None or point.step.forward:
        return None
    if isinstance(node, ast.Expr):
        call = node.value
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr not in STORES:
            return None
    elif not isinstance(node, (ast.AugAssign, ast.Assign)):
        return None
    return growth(point)


step_gate(CODE)(lambda point: _growth(point) is not None)


@check("AugAssign")
@check("Assign")
@check("Expr")
def graph_grows(statement: cst.AugAssign | cst.Assign | cst.Expr, context: Context) -> None:
    """Report a statement that adds the graph of a step to something that lives longer than the step."""
    step, point = context.step, context.point
    found = _growth(point) if step is not None and point is not None else None
    if found is None:
        return
    node = statement.value if isinstance(statement, cst.Expr) else statement
    names = ", ".join(dict.fromkeys(ast.unparse(name) for name in found.names))
    confidence = Confidence.HIGH if found.sure else Confidence.MEDIUM
    context.report(CODE, node, _fix(found, context), step, confidence=confidence, claims=False, name=names)


def _fix(found: Growth, context: Context) -> Fix:
    ends = [context.file.source.lines.span(name)[1] for name in found.names]
    reason = "; ".join(filter(None, (_PLAIN if found.may_be_numbers else "", found.seen)))
    level = Level.UNSAFE if reason else Level.SAFE
    return Fix(_TITLE, tuple(Edit(end, end, ".detach()") for end in sorted(ends)), level, reason)
