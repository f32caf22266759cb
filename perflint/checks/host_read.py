"""PPF201: a host read of a device tensor at each step."""

from __future__ import annotations

import libcst as cst

from perflint.checks import accumulate
from perflint.checks.tensor_reads import CONVERSIONS, READ_FUNCTIONS, READ_METHODS, certainty, tensor_read_by
from perflint.findings import Confidence, Fix, Level, Related
from perflint.lint.context import Context, method_of
from perflint.lint.registry import step_check, step_gate, step_triggers
from perflint.training.steps import Point, Read, Step, reads_of

CODE = "PPF201"
_METERS = frozenset({"update", "add", "record", "append", "extend", "push", "insert"})
_SHAPES = frozenset({"range", "zeros", "ones", "full", "empty", "reshape", "arange", "int"})

_KEEP = "keep the tensor on the device, and read it only where a number is needed"
_KEEP_REASON = "what uses the value must be able to hold a tensor, or run less often"
_ADD = "add `.detach()` of the tensor, and read the sum with `float()` where it is used"
_ADD_REASON = "whatever else uses the sum finds a tensor in it"
_METER = "hand over `.detach()` of the tensor, and read what is kept when it is printed"
_METER_REASON = "what it is handed to must be able to keep tensors"
_TEST = "decide every {interval} steps, or on the device"
_TEST_REASON = "whether the decision may come late is for a person to say"
_TEXT = "make the text only at the steps that print it"
_TEXT_REASON = "a tensor in a text is read just the same"
_SIZE = "take the size from the data pipeline or from `.shape`"
_SIZE_REASON = "Python needs the number, and a tensor does not do in its place"

_HELPER_MESSAGE = "`{what}` reads the device in {place} and so waits for it at {where}; keep the values on the device"
_HELPER_REASON = "whether the helper or its call should change is for you to decide"

step_triggers[CODE] |= READ_METHODS | CONVERSIONS | READ_FUNCTIONS | {"range"}


@step_check("Call")
def host_read(call: cst.Call, context: Context, step: Step) -> None:
    """Report the outermost read of a place; the reads inside it belong to it."""
    tensor = tensor_read_by(call, context)
    if tensor is not None:
        confidence = certainty(tensor, context)
        kept, advice = accumulate.fix(call, tensor, context), _advice(call, context)
        fix, logs = (kept.fix, kept.logs) if kept is not None else (advice, ())
        text = context.text(tensor)
        context.report(CODE, call, fix, step, confidence=confidence, logs=logs, otherwise=advice, tensor=text)
        return
    read = reads_of(context.file).get(context.range(call)[0])
    if read is not None:
        _report_helper(call, read, step, context)


def _report_helper(call: cst.Call, read: Read, step: Step, context: Context) -> None:
    """A helper in another file reads what it is handed: shown at the call too, where the step loop is read."""
    place = f"{read.path}:{read.line}"
    title, advice = "keep the values on the device", "."
    if isinstance(context.statement, cst.Expr):  # what it gives back is not used, so not every step needs it
        title = f"hand over host values every {context.settings.log_interval}th step"
        advice = ", and call it every {interval} steps."
    fix = Fix(title, (), Level.DISPLAY, _HELPER_REASON)
    related = (Related(read.path, read.line, "the host read"),)
    confidence = Confidence.HIGH if read.sure else Confidence.LOW
    message = _HELPER_MESSAGE + advice
    context.report(CODE, call, fix, step, related, confidence, claims=False, message=message, place=place)


@step_gate(CODE)
def _hands_over(point: Point) -> bool:
    lines, reading = point.file.source.lines, reads_of(point.file)
    return bool(reading) and any(lines.span(call)[0] in reading for call in point.statement.calls)


def _advice(call: cst.Call, context: Context) -> Fix:
    """What to do about a read that no edit takes away, in words, by what the value is used for."""
    title, reason = _words(call, context)
    return Fix(title.format(interval=context.settings.log_interval), (), Level.DISPLAY, reason)


def _words(call: cst.Call, context: Context) -> tuple[str, str]:
    for parent, inner in context.around(call):
        if isinstance(parent, (cst.FormattedStringExpression, cst.FormattedString)):
            return _TEXT, _TEXT_REASON
        if isinstance(parent, (cst.If, cst.While, cst.Assert, cst.IfExp)) and getattr(parent, "test", None) is inner:
            return _TEST, _TEST_REASON
        if isinstance(parent, cst.AugAssign) and isinstance(parent.operator, cst.AddAssign):
            return _ADD, _ADD_REASON
        if isinstance(parent, cst.Call):
            called = method_of(parent) or context.text(parent.func)
            if called in _METERS:
                return _METER, _METER_REASON
            if called in _SHAPES:
                return _SIZE, _SIZE_REASON
            if called in ("print", "format", "info", "debug", "str"):
                return _TEXT, _TEXT_REASON
        if isinstance(parent, cst.BaseSmallStatement):
            break
    return _KEEP, _KEEP_REASON
