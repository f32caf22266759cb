"""PPF106: a dataset that creates a tensor for each sample, although the loader would create one for a batch."""

from __future__ import annotations

import ast

import libcst as cst

from perflint import catalogue
from perflint.checks.spelled import spelling
from perflint.facts.sample_tensors import SampleTensor, TensorSample, sample_tensors
from perflint.findings import Confidence, Edit, Fix, Level, Related
from perflint.index.project import FileIndex
from perflint.lint.context import Context
from perflint.lint.registry import check, row_gate

CODE = "PPF106"
_UNTYPED = "name the type of the numbers, as in `np.asarray({data}, dtype=...)`: NumPy turns Python floats into float64"
_DRAWN = "the other dataset may return tensors already: pass them on unchanged, without creating new ones"
_TAKEN = "`np` is another name there"
_INDEXED = "some code indexes the dataset directly, and may call tensor methods on the samples"
_OF_IMAGES = "tensors of pictures"
"""The event if the copy of the numbers takes the time."""


@row_gate(CODE)
def _rows(file: FileIndex) -> list[int]:
    return [file.row(sample.tensors[0].call) for sample in sample_tensors(file)]


@check("Call")
def tensors_of_samples(call: cst.Call, context: Context) -> None:
    """Report the first tensor that a dataset creates from a sample; the fix is about all of them."""
    if CODE not in context.codes:
        return
    places = context.once(CODE, lambda: _by_place(context.file))
    found = places.get(context.range(call))
    if found is None:
        return
    rows = [context.file.row(tensor.call) for tensor in found.tensors[1:]]
    related = tuple(Related(context.file.path, row, "creates a tensor of the same sample") for row in rows)
    count = "a tensor" if not rows else f"{len(rows) + 1} tensors"
    confidence = Confidence.LOW if found.may_stay else Confidence.HIGH
    event, fix = _OF_IMAGES if found.is_image else "", _fix(found, context.file)
    context.report(CODE, call, fix, None, related, confidence, claims=False, event=event, count=count)


def _by_place(file: FileIndex) -> dict[tuple[int, int], TensorSample]:
    return {file.source.lines.span(sample.tensors[0].call): sample for sample in sample_tensors(file)}


def _fix(found: TensorSample, file: FileIndex) -> Fix:
    rule = catalogue.shipped()[CODE]
    untyped = next((tensor for tensor in found.tensors if tensor.needs_type), None)
    if untyped is not None:
        return Fix(rule.fix_title, (), Level.DISPLAY, _UNTYPED.format(data=ast.unparse(untyped.data)))
    if found.is_drawn or found.is_indexed:
        return Fix(rule.fix_title, (), Level.DISPLAY, _DRAWN if found.is_drawn else _INDEXED)
    spelled = spelling("numpy.asarray", found.tensors[0].call, file)
    if spelled is None:
        return Fix(rule.fix_title, (), Level.DISPLAY, _TAKEN)
    edits = tuple(_edit(tensor, spelled.name, file) for tensor in found.tensors)
    return spelled.trusted(Fix(rule.fix_title, edits, rule.fix_level, rule.fix_reason, spelled.imports))


def _edit(tensor: SampleTensor, asarray: str, file: FileIndex) -> Edit:
    source = file.source
    data = source.text[slice(*source.lines.span(tensor.data))]
    dtype = f', dtype="{tensor.dtype}"' if tensor.dtype else ""
    return Edit(*source.lines.span(tensor.call), f"{asarray}({data}{dtype})")
