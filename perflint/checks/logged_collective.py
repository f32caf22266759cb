"""PPF804: all ranks exchange a value at each step that only log lines show."""

from __future__ import annotations

import ast

import libcst as cst

from perflint.facts.logged_collectives import only_logged
from perflint.findings import Fix, Level
from perflint.lint.context import Context
from perflint.lint.registry import step_check, step_gate
from perflint.training.steps import Point, Step

CODE = "PPF804"
_TITLE = "exchange the value at the steps that log it, in all processes"
_REASON = "the test has to give the same result in all processes: if one skips the exchange, the others wait forever"


@step_gate(CODE)
def _exchanges(point: Point) -> bool:
    is_step = point.step is not None and not point.step.forward
    return is_step and any(only_logged(point, call) for call in point.statement.calls)


@step_check("Call")
def logged_collective(call: cst.Call, context: Context, step: Step) -> None:
    """Report a collective at each step whose result only log lines show."""
    point, node = context.point, context.expression(call)
    if point is None or not isinstance(node, ast.Call) or not only_logged(point, node):
        return
    fix = Fix(_TITLE, (), Level.DISPLAY, _REASON)
    context.report(CODE, call, fix, step, claims=False)
