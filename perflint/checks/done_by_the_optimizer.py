"""PPF503 and PPF504: weight decay in the loss, and gradients that a Python loop clips."""

from __future__ import annotations

import ast

import libcst as cst

from perflint.facts.parameter_loops import Clip, Penalty, clips, penalty
from perflint.findings import Confidence, Fix, Level
from perflint.lint.context import Context, method_of
from perflint.lint.registry import check, forward_triggers, step_check, step_gate, step_triggers
from perflint.training.steps import Point, Step

DECAY, CLIPPING = "PPF503", "PPF504"
_LISTS = frozenset({"parameters", "named_parameters"})

step_triggers[DECAY] |= _LISTS
forward_triggers[DECAY] |= _LISTS

_CLIP_REASON = (
    "pass the clipping where the optimizer is created; it adds regularization after clipping, the weights "
    "differ in the last digits, and a logged norm must be computed separately"
)
_DECAY_REASONS = {
    Penalty.SQUARES: "the optimizer is created elsewhere: c is the factor of the sum, times two unless that is halved;",
    Penalty.SIZES: "the optimizer is created elsewhere: c is the factor of the sum;",
}
_DECAY_LIMITS = (
    "the weights stay the same with SGD, Momentum and Adam without grad_clip (not with AdamW), and the logged "
    "loss then has no penalty in it"
)


@step_gate(CLIPPING)
def _clips(point: Point) -> bool:
    return isinstance(point.statement.node, ast.For) and clips(point) is not None


@check("For")
def clipped_in_python(loop: cst.For, context: Context) -> None:
    """Report a loop over parameters that clips their gradients at each step."""
    point, step = context.point, context.step
    how = clips(point) if point is not None and step is not None else None
    if how is None:
        return
    limits = "clip_norm" if how is Clip.NORM else "max, min"
    title = f"give the optimizer `grad_clip=paddle.nn.{how.value}({limits})`, and delete the loop"
    fix = Fix(title, (), Level.DISPLAY, _CLIP_REASON)
    context.report(CLIPPING, loop.iter, fix, step, claims=False, clip=how.value)


@step_check("Call", forward=True)
def decay_in_loss(call: cst.Call, context: Context, step: Step) -> None:
    """Report a penalty on all weights that is added to the loss at each step."""
    node = context.expression(call) if method_of(call) in _LISTS else None
    found = penalty(context.point, node) if context.point is not None and isinstance(node, ast.Call) else None
    if found is None:
        return
    fix = Fix(f"give the optimizer `{found.value}`", (), Level.DISPLAY, f"{_DECAY_REASONS[found]} {_DECAY_LIMITS}")
    confidence = Confidence.MEDIUM if step.forward else Confidence.HIGH
    context.report(DECAY, call, fix, step, confidence=confidence, claims=False, decay=found.value)
