"""Sizes of the Linear and Conv layers of a file, as far as they are written down in it."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perflint.index.bindings import definitions_of
from perflint.index.names import dotted
from perflint.index.scopes import Scope

if TYPE_CHECKING:
    from perflint.index.file import FileIndex

KINDS = {
    "paddle.nn.Linear": ("in_features", "out_features"),
    "paddle.nn.Conv1D": ("in_channels", "out_channels"),
    "paddle.nn.Conv2D": ("in_channels", "out_channels"),
    "paddle.nn.Conv3D": ("in_channels", "out_channels"),
}
MULTIPLE = 8
SMALLEST = 64
"""Below this width a layer is too small for its alignment to show."""

_OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
}


@dataclass(frozen=True)
class LayerSize:
    """One layer: its sizes (None where they are not written down), and the expressions that give them."""

    call: ast.Call
    kind: str
    group: str
    inputs: int | None
    outputs: int | None
    input_node: ast.expr | None
    output_node: ast.expr | None


@dataclass(frozen=True)
class Misaligned:
    """A width that Tensor Cores cannot fill: ``hidden`` tells one between two layers from an input width."""

    layer: LayerSize
    width: int
    side: str
    hidden: bool


def misaligned(file: FileIndex) -> dict[int, Misaligned]:
    """Misaligned layers of a file by the offset of their call.

    An output width counts only when another layer of the class takes it: the last width of a model is its number of
    classes, which nobody may choose.  Grouped convolutions are left alone.
    """
    layers = _layers(file)
    found: dict[int, Misaligned] = {}
    lines = file.source.lines
    for item in layers:
        taken = {other.inputs for other in layers if other.group == item.group and other is not item}
        made = {other.outputs for other in layers if other.group == item.group and other is not item}
        offset = lines.offset(item.call.lineno, item.call.col_offset)
        if _is_off(item.outputs) and item.outputs in taken:
            found[offset] = Misaligned(item, item.outputs or 0, "output", True)
        elif _is_off(item.inputs):
            found[offset] = Misaligned(item, item.inputs or 0, "input", item.inputs in made)
    return found


def aligned(width: int) -> int:
    """The next width that is a multiple of 8."""
    return -(-width // MULTIPLE) * MULTIPLE


def _is_off(width: int | None) -> bool:
    return width is not None and width >= SMALLEST and width % MULTIPLE != 0


def _layers(file: FileIndex) -> list[LayerSize]:
    constants = definitions_of(file.scopes.module)
    found: list[LayerSize] = []
    for scope in file.scopes.scopes:
        local: dict[str, ast.expr] | None = None
        for statement in scope.statements:
            for call in statement.calls:
                name = dotted(call.func)
                kind = file.names.resolve(name) if name else ""
                if kind in KINDS and not _is_grouped(call):
                    if local is None:
                        local = {**constants, **definitions_of(scope)}
                    found.append(_layer(call, kind, scope, local))
    return found


def _layer(call: ast.Call, kind: str, scope: Scope, constants: dict[str, ast.expr]) -> LayerSize:
    first, second = (_argument(call, index, name) for index, name in enumerate(KINDS[kind]))
    group = scope.owner.qualname if scope.owner else scope.qualname
    return LayerSize(call, kind, group, _size(first, constants), _size(second, constants), first, second)


def _argument(call: ast.Call, position: int, name: str) -> ast.expr | None:
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    if len(call.args) > position and not any(isinstance(arg, ast.Starred) for arg in call.args):
        return call.args[position]
    return None


def _is_grouped(call: ast.Call) -> bool:
    return (
        any(
            keyword.arg is None or (keyword.arg == "groups" and not _is_one(keyword.value)) for keyword in call.keywords
        )
        or len(call.args) > 6
    )


def _is_one(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 1


def _size(node: ast.expr | None, constants: dict[str, ast.expr], depth: int = 0) -> int | None:
    if node is None or depth > 4:
        return None
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, int) and not isinstance(node.value, bool) else None
    if isinstance(node, ast.Name) and node.id in constants:
        return _size(constants[node.id], constants, depth + 1)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        left, right = _size(node.left, constants, depth + 1), _size(node.right, constants, depth + 1)
        if left is None or right is None or (isinstance(node.op, ast.FloorDiv) and not right):
            return None
        return _OPERATORS[type(node.op)](left, right)
    return None
