"""PPF201: a host read of a device tensor at each step."""

from __future__ import annotations

import libcst as cst

from perflint.facts.fluid import is_for_paddle_1
from perflint.findings import Confidence, Fix, Level, Related
from perflint.lint.context import Context, method_of
from perflint.lint.registry import step_check, step_gate, step_triggers
from perflint.rules import accumulate
from perflint.rules.read_advice import advice
from perflint.rules.tensor_reads import READING_CALLS, certainty, tensor_read_by
from perflint.training.steps import Point, Read, Step, reads_of

CODE = "PPF201"
_HELPER_MESSAGE = "`{what}` reads the device in {place} and so waits for it at {where}"
_HELPER_REASON = "you have to decide whether to change the helper or its call"

_ASSIGN = "write it with `fluid.layers.assign(new, parameter)`, which copies on the device"
_OLD_PADDLE = "Paddle 1.x copies both values to the host to do it; from 2.0 on it does not"

step_triggers[CODE] |= READING_CALLS | {"range", "set_value"}


@step_check("Call")
def host_read(call: cst.Call, context: Context, step: Step) -> None:
    """Report the outermost read of a place; the reads inside it belong to it."""
    tensor = tensor_read_by(call, context)
    if tensor is not None:
        confidence = certainty(tensor, context)
        kept, said = accumulate.fix(call, tensor, context), advice(call, context)
        fix, logs = (kept.fix, kept.logs) if kept is not None else (said.fix, ())
        context.report(
            CODE,
            call,
            fix,
            step,
            confidence=confidence,
            logs=logs,
            otherwise=said.fix,
            shown=said.shown,
            read_for=said.read_for,
            event=said.event if kept is None else "",
            tensor=context.text(tensor),
            advice=said.words,
        )
        return
    if _sets_through_the_host(call, context):
        fix = Fix(_ASSIGN, (), Level.DISPLAY, _OLD_PADDLE)
        new = context.text(call.args[0].value)
        context.report(CODE, call, fix, step, claims=False, tensor=new, advice=_ASSIGN)
        return
    read = reads_of(context.file).get(context.range(call)[0])
    if read is not None:
        _report_helper(call, read, step, context)


def _sets_through_the_host(call: cst.Call, context: Context) -> bool:
    """Whether a parameter is set to a tensor in Paddle 1.x, whose ``set_value`` reads the new and the old value."""
    if method_of(call) != "set_value" or len(call.args) != 1 or call.args[0].star:
        return False
    return context.kind(call.args[0].value).is_tensor and is_for_paddle_1([context.file])


def _report_helper(call: cst.Call, read: Read, step: Step, context: Context) -> None:
    """Report a call whose helper in another file reads its argument: the step loop is where people look."""
    place = f"{read.path}:{read.line}"
    title, ending = "keep the values on the device", "; keep the values on the device."
    # It only records its argument, which not every step needs. `ema.update()` continues from step to step.
    if isinstance(context.statement, cst.Expr) and call.args:
        title = f"pass host values every {context.settings.log_interval}th step"
        ending = "; keep the values on the device, and call it every {interval} steps."
    said = advice(call, context)
    if said.shown:
        title, ending = said.fix.message, f"; {said.words}."
    fix = Fix(title, (), Level.DISPLAY, _HELPER_REASON)
    related = (Related(read.path, read.line, "the host read"),)
    confidence = Confidence.HIGH if read.sure else Confidence.LOW
    message = _HELPER_MESSAGE + ending
    context.report(
        CODE,
        call,
        fix,
        step,
        related,
        confidence,
        claims=False,
        shown=said.shown,
        read_for=said.read_for,
        message=message,
        place=place,
    )


@step_gate(CODE)
def _hands_over(point: Point) -> bool:
    lines, reading = point.file.source.lines, reads_of(point.file)
    return bool(reading) and any(lines.span(call)[0] in reading for call in point.statement.calls)
