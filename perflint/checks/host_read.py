"""PPF201: a host read of a device tensor at each step."""

from __future__ import annotations

import libcst as cst

# A slice in a loop and the update of a metric are reported as such: they go first.
from perflint.checks import accumulate, metric, read_advice, slice_read  # noqa: F401 - imported to register before
from perflint.checks.edits import on_device
from perflint.context import Context
from perflint.findings import Confidence, Fix, Level, Related
from perflint.index.file import Point, Step
from perflint.index.reads import Read
from perflint.registry import check, step_gate, triggers

CODE = "PPF201"
READ_METHODS = frozenset({"numpy", "item", "tolist", "cpu"})
CONVERSIONS = frozenset({"float", "int", "bool", "complex"})
# NumPy functions that say something about an array and so read it; np.random and the like take no tensor.
NUMPY_READS = frozenset(
    {
        "array",
        "asarray",
        "ascontiguousarray",
        "mean",
        "sum",
        "isnan",
        "isfinite",
        "isinf",
        "max",
        "min",
        "abs",
        "sqrt",
        "exp",
    }
    | {
        "log",
        "argmax",
        "argmin",
        "any",
        "all",
        "round",
        "stack",
        "concatenate",
        "std",
        "median",
        "squeeze",
        "transpose",
    }
    | {"float32", "float64", "int32", "int64", "clip", "where", "around", "append", "reshape", "vstack", "hstack"}
)

_HELPER_MESSAGE = "`{what}` reads the device in {place} and so waits for it at {where}; keep the values on the device"
_HELPER_REASON = "whether the helper or its call should change is for you to decide"

triggers(CODE, READ_METHODS | CONVERSIONS | NUMPY_READS)


def tensor_read_by(call: cst.Call, context: Context) -> cst.BaseExpression | None:
    """The device tensor that a call copies to the host; None when it reads none."""
    function = call.func
    if isinstance(function, cst.Attribute) and function.attr.value in READ_METHODS:
        # What .cpu() and .detach() lead to is one read: `loss.detach().cpu().numpy()`.
        tensor = on_device(function.value)
        kind = context.kind(tensor)
        if kind.is_host or kind.tag not in ("tensor", "unknown", "tuple"):
            return None
        if function.attr.value in ("tolist", "cpu") and not kind.is_tensor:
            return None
        return tensor
    argument = _only_argument(call)
    if argument is None:
        return None
    if (
        isinstance(function, cst.Name)
        and function.value in CONVERSIONS
        and not context.file.names.is_bound(function.value)
    ):
        return argument if context.kind(argument).is_tensor else None
    name = context.name(function)
    if name.startswith("numpy.") and name[6:] in NUMPY_READS and context.kind(argument).is_tensor:
        return argument
    return None


@check("Call")
def host_read(call: cst.Call, context: Context) -> None:
    """Report the outermost read of a place; the reads inside it belong to it."""
    step = context.step
    if step is None or context.claimed:
        return
    tensor = tensor_read_by(call, context)
    if tensor is not None:
        confidence = certainty(tensor, context)
        kept, advice = accumulate.fix(call, tensor, context), read_advice.advice(call, context)
        fix, logs = (kept.fix, kept.logs) if kept is not None else (advice, ())
        text = context.text(tensor)
        context.report(CODE, call, fix, step, confidence=confidence, logs=logs, otherwise=advice, tensor=text)
        return
    read = context.file.reading_calls.get(context.range(call)[0])
    if read is not None:
        _report_helper(call, read, step, context)


def certainty(tensor: cst.BaseExpression, context: Context) -> Confidence:
    """How sure it is that an expression is a device tensor: by its kind, or only by a name and a method."""
    kind = context.kind(tensor)
    return Confidence.HIGH if kind.is_tensor and not kind.guess else Confidence.MEDIUM


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


def _hands_over(point: Point) -> bool:
    lines, reading = point.file.source.lines, point.file.reading_calls
    return bool(reading) and any(
        lines.offset(call.lineno, call.col_offset) in reading for call in point.statement.calls
    )


step_gate(CODE, _hands_over)


def _only_argument(call: cst.Call) -> cst.BaseExpression | None:
    if not call.args or call.args[0].star or call.args[0].keyword is not None:
        return None
    return call.args[0].value
