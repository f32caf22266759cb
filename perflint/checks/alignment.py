"""PPF306: layer widths that Tensor Cores cannot fill, if AMP is used."""

from __future__ import annotations

from collections.abc import Mapping

import libcst as cst

from perflint.facts import layers, width_flow
from perflint.facts.amp import confidence_in
from perflint.facts.layers import Misaligned
from perflint.facts.open_widths import may_be_misaligned
from perflint.findings import Confidence, Edit, Fix, Level, Related
from perflint.index.project import FileIndex
from perflint.lint.context import Context
from perflint.lint.registry import check, row_gate

CODE = "PPF306"
_TITLE = "choose {width} on both sides"
_INPUT_TITLE = "choose {width} where the input is made"
_REASON = (
    "the model gets more weights, so training starts from other values, and checkpoints of the old shape no longer load"
)
_BY_HAND = (
    "perflint does not see everything that has this width: all of it has to change together, "
    "and checkpoints of the old shape no longer load"
)
_ADVICE = {True: "choose {width} for it on both sides", False: "choose {width} where the input is made"}


@row_gate(CODE)
def _rows(file: FileIndex) -> list[int]:
    return [found.layer.call.lineno for found in _misaligned(file).values()]


def _misaligned(file: FileIndex) -> Mapping[int, Misaligned]:
    """The misaligned layers of a file that is trained under AMP; rare conditions are tested first."""
    found = layers.misaligned(file) if may_be_misaligned(file) else {}
    return found if found and confidence_in(file) is not None else {}


@check("Call")
def misaligned_layer(call: cst.Call, context: Context) -> None:
    """Report a layer whose width is not a multiple of 8."""
    known, confidence = _misaligned(context.file), confidence_in(context.file)
    if not known or confidence is None:
        return
    start, end = context.range(call)
    found = known.get(start)
    if found is None or context.file.source.lines.span(found.layer.call) != (start, end):
        return
    if found.assumed:
        confidence = min(confidence, Confidence.MEDIUM)
    inside = found.layer.inside
    related = (Related(*inside, "the width reaches this layer"),) if inside else ()
    fix = _fix(found, context)
    context.report(
        CODE,
        call,
        fix,
        related=related,
        confidence=confidence,
        size=str(found.width),
        advice=_ADVICE[found.hidden or bool(fix.edits)].format(width=layers.aligned(found.width)),
        role="a hidden width" if found.hidden else "an input width",
    )


def _fix(found: Misaligned, context: Context) -> Fix:
    """The next multiple of 8 in all the places that contain the width, if all of them are known."""
    layer, width = found.layer, layers.aligned(found.width)
    numbers = None
    if layer.inside is None:
        numbers = width_flow.together(context.file, layer.group, layer.call, found.width, width)
    if numbers is None:
        title = _TITLE if found.hidden else _INPUT_TITLE
        return Fix(title.format(width=width), (), Level.DISPLAY, _BY_HAND)
    edits = {Edit(*context.file.source.lines.span(number), str(width)) for number in numbers}
    return Fix(_TITLE.format(width=width), tuple(sorted(edits)), Level.UNSAFE, _REASON)
