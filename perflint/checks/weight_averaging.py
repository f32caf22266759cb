"""PPF505: a moving average of the weights that a Python loop updates at each step."""

from __future__ import annotations

import ast

import libcst as cst

from perflint import catalogue
from perflint.facts.averaged_weights import average
from perflint.findings import Fix, Level
from perflint.lint.context import Context
from perflint.lint.registry import forward_clues, step_check, step_gate
from perflint.training.steps import Point, Step

CODE = "PPF505"

forward_clues[CODE] |= {"parameters", "named_parameters", "state_dict"}


@step_gate(CODE)
def _averages(point: Point) -> bool:
    return isinstance(point.statement.node, ast.For) and average(point) is not None


@step_check("For", forward=True)
def averaged_in_python(loop: cst.For, context: Context, step: Step) -> None:
    """Report a loop that updates an average of each weight of a network at each step."""
    kept = average(context.point) if context.point is not None else None
    if kept is None:
        return
    made, stored = f"`share = paddle.full([1], {kept.share})`", f"`{kept.kept}.lerp_({kept.new}, share)`"
    title = f"make {made} before the loop, and in the loop, under `paddle.no_grad()`, {stored}"
    fix = Fix(title, (), Level.DISPLAY, catalogue.shipped()[CODE].fix_reason)
    context.report(CODE, loop.iter, fix, step, claims=False)
