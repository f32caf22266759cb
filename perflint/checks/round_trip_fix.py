"""The fixes of PPF206: the copy that a round trip makes, made on the device."""

from __future__ import annotations

import re
from dataclasses import dataclass

import libcst as cst

from perflint.checks.arguments import find_argument
from perflint.checks.edits import on_device, source_of
from perflint.findings import Edit, Fix, Level
from perflint.lint.context import Context

TITLE = "keep the values on the device"
_SAFE_STEP = re.compile(r"""\.astype\(["'](float32|float64|float16)["']\)|\.reshape\([\[(][-\d, ]+[\])]\)""")
_ELSEWHERE = re.compile(r"CPUPlace|\.cpu\(\)|\bplaces\s*=|\bplace\s*=|pin_memory|set_device\(\s*[\"']cpu|device_guard")
_OTHERS = frozenset({"torch", "tensorflow", "mxnet", "jax", "mindspore"})


@dataclass(frozen=True)
class Trip:
    """``read`` copies ``tensor`` to the host; ``steps`` are calls (``.astype("float32")``) on its way back."""

    read: cst.Call
    tensor: cst.BaseExpression
    steps: tuple[str, ...]


def copy_of(trip: Trip, context: Context) -> str:
    """The tensor as ``to_tensor`` would give it: a copy without a gradient."""
    return f"{source_of(on_device(trip.tensor), context)}.detach().clone(){''.join(trip.steps)}"


def stay(call: cst.Call, trip: Trip, context: Context) -> Fix:
    """``x.cpu().cuda()`` as ``x``."""
    edit = Edit(*context.range(call), source_of(on_device(trip.tensor), context))
    return Fix(TITLE, (edit,), Level.DISPLAY, "only if nothing has to run on the CPU in between")


def on_device_copy(call: cst.Call, trip: Trip, context: Context) -> Fix:
    """``paddle.to_tensor(x.numpy())`` as ``x.detach().clone()``."""
    dtype = find_argument(call, "dtype", 1)
    if dtype is not None:
        trip = Trip(trip.read, trip.tensor, (*trip.steps, f".astype({context.text(dtype.value)})"))
    edit = Edit(*context.range(call), copy_of(trip, context))
    level, reason = _level(call, trip, context)
    return Fix(TITLE, (edit,), level, reason)


def _level(call: cst.Call, trip: Trip, context: Context) -> tuple[Level, str]:
    spelling = trip.read.func.attr.value if isinstance(trip.read.func, cst.Attribute) else ""
    kind = context.kind(trip.tensor)
    if find_argument(call, "place", None) or find_argument(call, "stop_gradient", None):
        return Level.DISPLAY, "the call asks for a place or a gradient of its own"
    if "#" in context.text(call):
        return Level.DISPLAY, "a comment would be lost"
    if spelling in ("item", "tolist"):
        return Level.DISPLAY, "the shape and the dtype of the tensor can differ from those of the new one"
    if spelling != "numpy" or not kind.is_tensor or kind.guess or context.file.names.packages & _OTHERS:
        return Level.UNSAFE, "only if what is read is a Paddle tensor"
    if kind.scalar:
        return Level.UNSAFE, "a 0-D tensor came back with one dimension in Paddle 2.5"
    if not all(_SAFE_STEP.fullmatch(step) for step in trip.steps):
        return Level.UNSAFE, "values that do not fit the new dtype may be converted otherwise on the device"
    if _other_device(context):
        return Level.UNSAFE, "the tensor stays on its device, which this file may have chosen to be another one"
    return Level.SAFE, ""


def _other_device(context: Context) -> bool:
    """Whether this file, or the one with the step loop, chooses a device for some of its tensors."""
    step = context.hot
    loop = context.file.project.files.get(step.path) if step is not None else None
    files = (context.file, loop) if loop is not None else (context.file,)
    return any(_ELSEWHERE.search(file.source.text) for file in files)
