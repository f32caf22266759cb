"""PPF306: layer widths that Tensor Cores cannot fill, where AMP is in use."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

import libcst as cst

from perflint.context import Context
from perflint.findings import Confidence, Edit, Fix, Level, Related
from perflint.index import layers
from perflint.index.file import FileIndex
from perflint.index.layers import Misaligned
from perflint.index.scopes import Class
from perflint.index.sizes import Size
from perflint.index.tree import walk
from perflint.registry import check, row_gate
from perflint.source import LineTable

CODE = "PPF306"
_REASON = "the initial values of the layer change, and saved weights of the old shape no longer load"
_BY_HAND = "the width has to change on both sides, and saved weights of the old shape no longer load"
_SLICES = {"paddle.nn.Linear": "[..., :{width}]"}
_CHANNEL_SLICE = "[:, :{width}]"


def _rows(file: FileIndex) -> Iterator[int]:
    for found in _misaligned(file).values():
        yield found.layer.call.lineno


def _misaligned(file: FileIndex) -> Mapping[int, Misaligned]:
    """The misaligned layers of a file that is trained under AMP; what few files need is asked last."""
    found = file.misaligned if file.may_be_misaligned else {}
    return found if found and file.source.path in file.project.amp_files else {}


row_gate(CODE, _rows)


@check("Call")
def misaligned_layer(call: cst.Call, context: Context) -> None:
    """Report a layer whose width is no multiple of 8."""
    known = _misaligned(context.file)
    if not known:
        return
    start, end = context.range(call)
    found = known.get(start)
    if found is None or _span(context.file.source.lines, found.layer.call) != (start, end):
        return
    confidence = context.file.project.amp_files[context.file.source.path]
    if found.assumed:
        confidence = min(confidence, Confidence.MEDIUM)
    inside = found.layer.inside
    related = (Related(*inside, "the width reaches this layer"),) if inside else ()
    context.report(
        CODE,
        call,
        _fix(found, context),
        related=related,
        confidence=confidence,
        size=str(found.width),
        aligned=str(layers.aligned(found.width)),
        role="a hidden width" if found.hidden else "an input width",
    )


def _fix(found: Misaligned, context: Context) -> Fix:
    width = layers.aligned(found.width)
    node = found.layer.output_node if found.side == "output" else found.layer.input_node
    lines = context.file.source.lines
    title = f"pad {found.width} to {width} and slice the result"
    if node is None or not isinstance(node, ast.Constant) or found.layer.inside:
        return Fix(title, (), Level.DISPLAY, _BY_HAND)
    edit = Edit(*_span(lines, node), str(width))
    uses = _uses(found, context) if found.side == "output" else None
    if not uses or _is_odd(found.layer.inputs):
        return Fix(title, (edit,), Level.DISPLAY, _BY_HAND)
    piece = _SLICES.get(found.layer.kind, _CHANNEL_SLICE).format(width=found.width)
    slices = [Edit(_span(lines, use)[1], _span(lines, use)[1], piece) for use in uses]
    return Fix(title, (edit, *slices), Level.UNSAFE, _REASON)


def _is_odd(size: Size | None) -> bool:
    return size is not None and bool(size.width) and layers.aligned(size.width or 0) != size.width


def _uses(found: Misaligned, context: Context) -> list[ast.Call] | None:
    """The calls of ``self.layer(...)`` in its class, None when the layer is used in any other way."""
    owner = next((item for item in context.file.scopes.classes.values() if item.qualname == found.layer.group), None)
    attribute = _attribute(found.layer.call, owner) if owner is not None else None
    if owner is None or attribute is None:
        return None
    calls = [item for item in walk(owner.node) if isinstance(item, ast.Call) and _is_own(item.func, attribute)]
    loads = [
        item
        for item in walk(owner.node)
        if _is_own(item, attribute) and isinstance(getattr(item, "ctx", None), ast.Load)
    ]
    return calls if calls and len(calls) == len(loads) else None


def _attribute(call: ast.Call, owner: Class) -> str | None:
    names = [name for name, values in owner.attributes.items() if any(value is call for value, _ in values)]
    return names[0] if len(names) == 1 and len(owner.attributes[names[0]]) == 1 else None


def _is_own(node: ast.AST, attribute: str) -> bool:
    return (
        isinstance(node, ast.Attribute)
        and node.attr == attribute
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    )


def _span(lines: LineTable, node: ast.expr) -> tuple[int, int]:
    assert node.end_lineno is not None and node.end_col_offset is not None
    return lines.offset(node.lineno, node.col_offset), lines.offset(node.end_lineno, node.end_col_offset)
