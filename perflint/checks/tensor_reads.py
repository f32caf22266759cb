"""Finds the tensor that a call copies to the host: ``loss`` for ``float(loss)``, ``loss.item()``, ``np.mean(loss)``."""

from __future__ import annotations

import libcst as cst

from perflint.checks.edits import on_device
from perflint.findings import Confidence
from perflint.lint.context import Context

READ_METHODS = frozenset({"numpy", "item", "tolist", "cpu"})
CONVERSIONS = frozenset({"float", "int", "bool", "complex"})
# NumPy functions that say something about an array and so read it; np.random and the like do not take tensors.
NUMPY_READS = frozenset(
    {"array", "asarray", "ascontiguousarray", "mean", "sum", "isnan", "isfinite", "isinf", "max", "min", "abs"}
    | {"sqrt", "exp", "log", "argmax", "argmin", "any", "all", "round", "stack", "concatenate", "std", "median"}
    | {"squeeze", "transpose", "float32", "float64", "int32", "int64", "clip", "where", "around", "append", "reshape"}
    | {"vstack", "hstack"}
)
# A value that is a tensor only by its name in the code may be a number for these.
_OF_NUMBERS = frozenset(
    {"numpy.linalg.norm", "numpy.unique", "numpy.argsort", "numpy.sort", "numpy.cumsum", "numpy.var", "numpy.prod"}
    | {"numpy.dot", "numpy.matmul", "numpy.square", "numpy.power", "numpy.maximum", "numpy.minimum", "numpy.ceil"}
    | {"numpy.floor", "numpy.count_nonzero", "numpy.percentile", "numpy.repeat", "numpy.tile", "numpy.pad"}
    | {"numpy.expand_dims", "numpy.array_equal", "numpy.allclose", "numpy.histogram", "numpy.nonzero"}
    | {"math.exp", "math.log", "math.log2", "math.log10", "math.sqrt", "math.pow", "math.floor", "math.ceil"}
)
READ_FUNCTIONS = NUMPY_READS | {name.rpartition(".")[2] for name in _OF_NUMBERS}
"""Last names of the functions of NumPy and ``math`` that read their arguments."""


def tensor_read_by(call: cst.Call, context: Context) -> cst.BaseExpression | None:
    """The device tensor that a call copies to the host; None if it reads none."""
    function = call.func
    if isinstance(function, cst.Attribute) and function.attr.value in READ_METHODS:
        return _read_by_method(function, context)
    if not call.args or call.args[0].star or call.args[0].keyword is not None:
        return None
    argument, name = call.args[0].value, context.name(function)  # a name without a binding is returned itself
    converts = isinstance(function, cst.Name) and name in CONVERSIONS
    counts = name == "range" and len(call.args) == 1 and isinstance(argument, cst.Call)
    if converts or (name.startswith("numpy.") and name[6:] in NUMPY_READS):
        return argument if context.kind(argument).is_tensor else None
    if counts or name in _OF_NUMBERS:
        return argument if certainty(argument, context) is Confidence.HIGH else None
    return None


def _read_by_method(function: cst.Attribute, context: Context) -> cst.BaseExpression | None:
    """The tensor that ``loss.item()`` or the like reads."""
    tensor = on_device(function.value)  # .cpu() and .detach() before a read belong to it: `loss.detach().cpu().numpy()`
    kind = context.kind(tensor)
    if kind.is_host or kind.tag not in ("tensor", "unknown", "tuple"):
        return None
    return tensor if kind.is_tensor or function.attr.value not in ("tolist", "cpu") else None


def certainty(tensor: cst.BaseExpression, context: Context) -> Confidence:
    """How certain it is that an expression is a device tensor: by its kind, or only by a name and a method."""
    kind = context.kind(tensor)
    return Confidence.HIGH if kind.is_tensor and not kind.guess else Confidence.MEDIUM
