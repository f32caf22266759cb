"""Loaders whose samples workers cannot pass on: the fix is only words, since workers alone would crash."""

from __future__ import annotations

import ast

import libcst as cst

from perflint.facts import samples
from perflint.facts.loader_sites import LOADER
from perflint.facts.samples import Obstacle
from perflint.findings import Fix, Level
from perflint.lint.context import Context

_DATASETS = {
    LOADER: (("dataset", 0),),
    "paddle.Model.fit": (("train_data", 0), ("eval_data", 1)),
    "paddle.Model.evaluate": (("eval_data", 0),),
}
_TENSORS = "the samples are Paddle tensors (`{text}` at {place}), on which worker processes crash"
_ARRAYS = _TENSORS + "; return NumPy arrays instead, since the loader turns them into tensors anyway"
_TRANSFORMS = _TENSORS + "; `Transpose()` and `Normalize([0.0], [255.0])` instead give the same numbers as arrays"
_COLLATOR = _TENSORS + '; pass `return_tensors="np"`, since the loader turns arrays into tensors anyway'
_EMPTY = "`{text}` at {place} makes an array of size zero, which cannot go through shared memory"
_ONE_ROW = _EMPTY + ": give such a sample one row and a mask, or also pass use_shared_memory=False"


def of_call(call: cst.Call, callee: str, context: Context) -> Obstacle | None:
    """What prevents the workers of a loader from passing on its samples; ``callee``: the qualified name of the call."""
    point, datasets = context.point, _DATASETS.get(callee)
    made = context.expression(call) if datasets is not None else None
    if point is None or datasets is None or not isinstance(made, ast.Call):
        return None
    return samples.obstacle(context.file, point.scope, made, *datasets)


def words(found: Obstacle, title: str, context: Context, shared_memory: bool = False) -> Fix:
    """The fix in words; ``shared_memory``: this is what should be turned on; there are workers already."""
    if shared_memory:
        reason = _EMPTY if found.empty else _TENSORS
    elif found.empty:
        reason = _ONE_ROW
    elif found.text.startswith("paddlenlp.data."):
        reason = _COLLATOR
    else:
        reason = _TRANSFORMS if found.text.endswith("ToTensor") else _ARRAYS
    here = found.path == context.file.path
    place = f"line {found.line}" if here else f"{found.path}:{found.line}"
    return Fix(title, (), Level.DISPLAY, reason.format(text=found.text, place=place))
