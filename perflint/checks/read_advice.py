"""What to do about a host read that no edit takes away, in words, by what the value is used for."""

from __future__ import annotations

import libcst as cst

from perflint.findings import Fix, Level
from perflint.lint.context import Context

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


def advice(call: cst.Call, context: Context) -> Fix:
    """A fix without an edit, that says what to do with the value of a read.

    Args:
        call: the read.
    """
    title, reason = _words(call, context)
    return Fix(title.format(interval=context.settings.log_interval), (), Level.DISPLAY, reason)


def _words(call: cst.Call, context: Context) -> tuple[str, str]:
    inner: cst.CSTNode = call
    for parent in reversed(context.parents):
        if isinstance(parent, (cst.FormattedStringExpression, cst.FormattedString)):
            return _TEXT, _TEXT_REASON
        if isinstance(parent, (cst.If, cst.While, cst.Assert, cst.IfExp)) and getattr(parent, "test", None) is inner:
            return _TEST, _TEST_REASON
        if isinstance(parent, cst.AugAssign) and isinstance(parent.operator, cst.AddAssign):
            return _ADD, _ADD_REASON
        if isinstance(parent, cst.Call) and parent is not call:
            called = parent.func.attr.value if isinstance(parent.func, cst.Attribute) else context.text(parent.func)
            if called in _METERS:
                return _METER, _METER_REASON
            if called in _SHAPES:
                return _SIZE, _SIZE_REASON
            if called in ("print", "format", "info", "debug", "str"):
                return _TEXT, _TEXT_REASON
        if isinstance(parent, cst.BaseSmallStatement):
            break
        inner = parent
    return _KEEP, _KEEP_REASON
