"""PPF306: layer widths that Tensor Cores cannot fill, where AMP is in use."""

from __future__ import annotations

import ast

import libcst as cst

from perflint.context import Context
from perflint.findings import Edit, Fix, Level
from perflint.index import layers
from perflint.index.file import FileIndex
from perflint.index.layers import Misaligned
from perflint.index.scopes import Class
from perflint.registry import check, gate
from perflint.source import LineTable

CODE = "PPF306"
_REASON = "the initial values of the layer change, and saved weights of the old shape no longer load"
_BY_HAND = "the width has to change on both sides, and saved weights of the old shape no longer load"
_SLICES = {"paddle.nn.Linear": "[..., :{width}]"}
_CHANNEL_SLICE = "[:, :{width}]"


def _may_match(call: ast.Call, file: FileIndex) -> bool:
    return file.project.uses_amp(file) and file.source.lines.offset(call.lineno, call.col_offset) in file.misaligned


for _kind in layers.KINDS:
    gate(CODE, _kind, _may_match)


@check(cst.Call)
def misaligned_layer(call: cst.Call, context: Context) -> None:
    """Report a layer whose width is no multiple of 8."""
    if context.name(call.func) not in layers.KINDS or not context.file.project.uses_amp(context.file):
        return
    found = context.file.misaligned.get(context.range(call)[0])
    if found is None:
        return
    width = layers.aligned(found.width)
    role = "a hidden width" if found.hidden else "an input width"
    context.report(CODE, call, _fix(found, context), size=str(found.width), aligned=str(width), role=role)


def _fix(found: Misaligned, context: Context) -> Fix:
    width = layers.aligned(found.width)
    node = found.layer.output_node if found.side == "output" else found.layer.input_node
    lines = context.file.source.lines
    title = f"pad {found.width} to {width} and slice the result"
    if node is None or not isinstance(node, ast.Constant):
        return Fix(title, (), Level.DISPLAY, _BY_HAND)
    edit = Edit(*_span(lines, node), str(width))
    uses = _uses(found, context) if found.side == "output" else None
    if not uses or layers.aligned(found.layer.inputs or 0) != (found.layer.inputs or 0):
        return Fix(title, (edit,), Level.DISPLAY, _BY_HAND)
    piece = _SLICES.get(found.layer.kind, _CHANNEL_SLICE).format(width=found.width)
    slices = [Edit(_span(lines, use)[1], _span(lines, use)[1], piece) for use in uses]
    return Fix(title, (edit, *slices), Level.UNSAFE, _REASON)


def _uses(found: Misaligned, context: Context) -> list[ast.Call] | None:
    """The calls of ``self.layer(...)`` in its class, None when the layer is used in any other way."""
    owner = next((item for item in context.file.scopes.classes.values() if item.qualname == found.layer.group), None)
    attribute = _attribute(found.layer.call, owner) if owner is not None else None
    if owner is None or attribute is None:
        return None
    calls = [item for item in ast.walk(owner.node) if isinstance(item, ast.Call) and _is_own(item.func, attribute)]
    loads = [
        item
        for item in ast.walk(owner.node)
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
