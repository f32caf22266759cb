"""PPF202 and PPF405: logging at each step, with and without a tensor in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Union

import libcst as cst

from perflint.findings import Confidence
from perflint.flow.branches import EACH_STEP, Often
from perflint.lint.context import Context
from perflint.lint.grouping import PLAIN_LOG, TENSOR_LOG
from perflint.lint.registry import FORMATTING, declared_triggers, step_check, step_triggers
from perflint.rules import guard
from perflint.rules.guard import code_of, log_family
from perflint.syntax.vocabulary import LOGGING
from perflint.training.every import every
from perflint.training.steps import Step

_EVENTS = {
    "text": "printed line",
    "declared": "printed line",
    "record": "recorded value",
    "progress": "progress text",
}
"""The cost of a logging call without a tensor, by its family."""

_Formatting = Union["cst.FormattedString", "cst.BinaryOperation", "cst.Call"]

for _code in (PLAIN_LOG, TENSOR_LOG):
    declared_triggers[_code].add("logging_calls")
    step_triggers[_code] |= LOGGING
step_triggers[TENSOR_LOG] |= {"format", "str", "repr", FORMATTING}


@step_check("Call")
def log_call(call: cst.Call, context: Context, step: Step) -> None:
    """Report a logging call, including everything that is read for it."""
    family = log_family(call, context)
    if not family:
        return
    code = code_of(call, context)
    runs = every(context.file.project, context.here) if code == PLAIN_LOG else EACH_STEP
    # a test for gradient accumulation, whose length is usually 1
    if runs.often is Often.SOMETIMES:
        context.claim(call)
        return  # some test selects the steps, and nothing shows that it is true at each of them
    # A line that is only reached by a method's name may belong to the start of a run, or to something rare.
    confidence = Confidence.LOW if code == PLAIN_LOG and not step.sure else Confidence.HIGH
    event = _EVENTS[family] if code == PLAIN_LOG else ""
    guarded = guard.guard_fix(call, family, context)
    context.report(code, call, guarded.fix, step, confidence=confidence, event=event, guarded=guarded.span)


@step_check("FormattedString")
@step_check("BinaryOperation")
@step_check("Call")
def formatted_tensor(node: _Formatting, context: Context, step: Step) -> None:
    """Report a tensor that is converted to text outside of a logging call."""
    part = next((part for part in _formatted(node) if context.kind(part).is_tensor), None)
    if part is not None:
        context.report(TENSOR_LOG, node, guard.format_fix(context), step, tensor=context.text(part))


def _formatted(node: _Formatting) -> Iterator[cst.BaseExpression]:
    """The values that an expression converts to text."""
    if isinstance(node, cst.FormattedString):
        yield from (part.expression for part in node.parts if isinstance(part, cst.FormattedStringExpression))
    elif isinstance(node, cst.BinaryOperation):
        if isinstance(node.operator, cst.Modulo) and isinstance(node.left, cst.BaseString):
            yield from (
                (part.value for part in node.right.elements) if isinstance(node.right, cst.Tuple) else [node.right]
            )
    elif isinstance(node.func, cst.Attribute) and node.func.attr.value == "format":
        if isinstance(node.func.value, (cst.SimpleString, cst.ConcatenatedString)):
            yield from (argument.value for argument in node.args)
    elif isinstance(node.func, cst.Name) and node.func.value in ("str", "repr"):
        yield from (argument.value for argument in node.args[:1])
