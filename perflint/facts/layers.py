"""Finds the sizes of the Linear and Conv layers of a file, also of those that classes or functions create for it."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perflint.dataflow.call_graph import CallGraph
from perflint.dataflow.constants import Constants
from perflint.dataflow.sizes import Size, default_holds, size_of
from perflint.dataflow.sole_binding import ReadPlace
from perflint.query import query
from perflint.syntax.names import dotted
from perflint.syntax.parameters import arguments_of
from perflint.syntax.scopes import Scope

if TYPE_CHECKING:
    from perflint.index.project import FileIndex

KINDS = {
    "paddle.nn.Linear": ("in_features", "out_features"),
    "paddle.nn.Conv1D": ("in_channels", "out_channels"),
    "paddle.nn.Conv2D": ("in_channels", "out_channels"),
    "paddle.nn.Conv3D": ("in_channels", "out_channels"),
}
MULTIPLE = 8
SMALLEST = 64
"""Below this width a layer is too small for alignment to matter."""

_GROUPS = 6
"""The position of ``groups`` among the arguments of a convolution."""

MAX_DEPTH = 3
"""Through how many classes and functions a width is followed."""


@dataclass(frozen=True, eq=False)
class LayerSize:
    """One layer: its sizes (None if they are not known), and their expressions.

    ``call`` is the call in the examined file. ``inside`` is the path and line of the layer itself, if that call reaches
    it through a class or function of the project.
    """

    call: ast.Call
    kind: str
    group: str
    inputs: Size | None
    outputs: Size | None
    input_node: ast.expr | None
    output_node: ast.expr | None
    inside: tuple[str, int] | None = None


@dataclass(frozen=True)
class Misaligned:
    """A width that Tensor Cores cannot fill: ``hidden``: it is between two layers, not an input width.

    ``assumed``: it is the default of a parameter, which every call in the project leaves unchanged.
    """

    layer: LayerSize
    width: int
    side: str
    hidden: bool
    assumed: bool


@query
def misaligned(file: FileIndex) -> dict[int, Misaligned]:
    """Misaligned layers of a file by the offset of their call.

    An output width counts only if another layer of the class takes it: the last width of a model is its number of
    classes, which cannot be chosen. Grouped convolutions are not reported.
    """
    groups: dict[str, list[LayerSize]] = defaultdict(list)
    for layer in _layers(file):
        groups[layer.group].append(layer)
    found: dict[int, Misaligned] = {}
    for layers in groups.values():
        for item in layers:
            offset = file.source.lines.offset(item.call.lineno, item.call.col_offset)
            wrong = _wrong(item, layers)
            if wrong is not None and offset not in found:
                found[offset] = wrong
    return found


def aligned(width: int) -> int:
    """The next width that is a multiple of 8."""
    return -(-width // MULTIPLE) * MULTIPLE


def _wrong(item: LayerSize, layers: list[LayerSize]) -> Misaligned | None:
    """The width of a layer that is not a multiple of 8 but could be; None if there is none."""
    others = [other for other in layers if other is not item]
    taken = {other.inputs.width for other in others if other.inputs is not None}
    made = {other.outputs.width for other in others if other.outputs is not None}
    for size, side, met in ((item.outputs, "output", taken), (item.inputs, "input", made)):
        if size is None or not is_off(size) or (item.inside and not size.given):
            continue
        hidden = size.width in met
        is_free = hidden or (side == "input" and _is_written(item, size))
        if is_free and all(map(default_holds, size.assumed)):
            return Misaligned(item, size.width or 0, side, hidden, bool(size.assumed))
    return None


def _is_written(item: LayerSize, size: Size) -> bool:
    """Whether a width is a literal where the layer is created, not the default of a parameter or an attribute."""
    return item.inside is None and not size.assumed and not size.attribute


def is_off(size: Size | None, least: int = SMALLEST) -> bool:
    """Whether a number is known, is not a multiple of 8, and is not below ``least``."""
    return size is not None and size.width is not None and size.width >= least and size.width % MULTIPLE != 0


def _layers(file: FileIndex) -> Iterator[LayerSize]:
    for scope in file.scopes.scopes:
        yield from layers_in(file, scope)


@query
def layers_in(file: FileIndex, scope: Scope) -> list[LayerSize]:
    """The layers that a function of a file creates."""
    group = scope.owner.qualname if scope.owner else scope.qualname
    return list(_layers_of(ReadPlace(file, scope), group, None, 0))


def _layers_of(inside: ReadPlace, group: str, site: ast.Call | None, depth: int) -> Iterator[LayerSize]:
    """The layers that the statements of a function create; ``site`` is the call that represents them outside."""
    for statement in inside.scope.statements:
        place = inside.at(inside.scope, statement)
        for call in statement.calls:
            name = dotted(call.func)
            kind = place.file.names.resolve(name) if name else ""
            if kind in KINDS:
                if not _is_grouped(call, place):
                    yield _layer(call, kind, group, place, site)
            elif depth < MAX_DEPTH and not kind.startswith("paddle.") and not _is_alias(call, place.file):
                yield from _layers_through(call, place, group, site or call, depth)


def _layers_through(call: ast.Call, place: ReadPlace, group: str, site: ast.Call, depth: int) -> Iterator[LayerSize]:
    """The layers of a project class or function, created with the numbers that a call passes."""
    project = place.file.project
    reached = CallGraph.of(project).reached(place.file, place.scope, call) if _hands_odd_number(call, place) else ()
    for file, scope in reached:
        is_new = is_followed(scope) and place.given(scope) is None
        inside = Constants.of(project).entered(call, place, file, scope) if is_new else None
        if inside is not None:
            yield from _layers_of(inside, group, site, depth + 1)


def _is_alias(call: ast.Call, file: FileIndex) -> bool:
    """Whether a call uses a variable with a function, so that ``open_widths`` would not find it."""
    return isinstance(call.func, ast.Name) and not file.names.is_bound(call.func.id) and not file.names.stars


def _hands_odd_number(call: ast.Call, place: ReadPlace) -> bool:
    """Whether an argument is a number that may lead to a misaligned width: others are aligned, or too small."""
    for argument in arguments_of(call):
        if isinstance(argument, ast.Constant) and not isinstance(argument.value, int):
            continue
        if is_off(size_of(argument, place), MULTIPLE):
            return True
    return False


def is_followed(scope: Scope) -> bool:
    """Whether a width is followed into a function: one of the module, or the ``__init__`` of a class."""
    if scope.owner is not None:
        return scope.name == "__init__"
    return scope.parent is not None and scope.parent.parent is None


def _layer(call: ast.Call, kind: str, group: str, place: ReadPlace, site: ast.Call | None) -> LayerSize:
    first, second = width_arguments(call, kind)
    inside = (place.file.path, place.file.row(call)) if site is not None else None
    inputs, outputs = size_of(first, place), size_of(second, place)
    return LayerSize(site or call, kind, group, inputs, outputs, first, second, inside)


def width_arguments(call: ast.Call, kind: str) -> tuple[ast.expr | None, ast.expr | None]:
    """The expressions that a call passes to a layer as its input and output width."""
    first, second = (_argument(call, index, name) for index, name in enumerate(KINDS[kind]))
    return first, second


def _argument(call: ast.Call, position: int, name: str) -> ast.expr | None:
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    if len(call.args) > position and not any(isinstance(arg, ast.Starred) for arg in call.args):
        return call.args[position]
    return None


def _is_grouped(call: ast.Call, place: ReadPlace) -> bool:
    """Whether a convolution has groups, or may have: then it is not one matrix product."""
    bound = place.given(place.scope)
    for keyword in call.keywords:
        if keyword.arg is None and (bound is None or "**groups" in bound):
            return True
    groups = _argument(call, _GROUPS, "groups")
    if groups is None:
        return False
    size = size_of(groups, place)
    return size is None or size.value != 1 or bool(size.assumed)
