"""Finds files that can contain a misaligned width, from the layers upwards, so that few others are parsed or followed.

Most files create layers only with aligned or unknown numbers. What remains are files with a misaligned number in a
layer, or in a call of something that creates layers with its arguments.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from perflint.dataflow.call_graph import CallGraph, Certainty
from perflint.dataflow.sizes import Size, size_of
from perflint.dataflow.sole_binding import ReadPlace
from perflint.facts import amp
from perflint.facts.layers import KINDS, MAX_DEPTH, MULTIPLE, SMALLEST, is_followed, is_off, width_arguments
from perflint.query import query
from perflint.syntax.names import dotted, spellings
from perflint.syntax.parameters import arguments_of
from perflint.syntax.scopes import Scope

if TYPE_CHECKING:
    from perflint.index.project import FileIndex, Project

_LAYERS = frozenset(kind.rpartition(".")[2] for kind in spellings(KINDS))

Maker = tuple["FileIndex", Scope]


def may_be_misaligned(file: FileIndex) -> bool:
    """Whether a layer of a file may have a misaligned width and be trained with AMP; a fast test.

    It is not used for a project that is edited: an edit would test all files again, while the cached answers about
    functions are fast enough.
    """
    return file.project.is_edited or file.path in files(file.project)


@query
def files(project: Project) -> frozenset[str]:
    """The paths of the files that can have a misaligned layer with AMP: a superset of those that do.

    Calls are followed as deep as widths; a number that depends on an argument of a function may be any number.
    """
    if not any(amp.mentions_amp(file) for file in project.files.values()):
        return frozenset()
    search = _Search()
    for file in project.mentions.of(*sorted(_LAYERS)):
        for place, call, kind in _layer_calls(file):
            search.look(place, width_arguments(call, kind), SMALLEST)
    for _ in range(MAX_DEPTH):
        for maker in search.taken_makers():
            for site in CallGraph.of(project).each(*maker, Certainty.SURE):
                search.look(ReadPlace(site.file, site.scope, site.statement), arguments_of(site.call), MULTIPLE)
    return frozenset(search.found)


class _Search:
    """The files found so far, and the functions that create layers with their arguments."""

    def __init__(self) -> None:
        self.found: set[str] = set()
        self._makers: dict[Maker, None] = {}
        self._seen: set[Maker] = set()

    def taken_makers(self) -> list[Maker]:
        """The functions found since the last call."""
        found = [maker for maker in self._makers if maker not in self._seen]
        self._seen.update(found)
        return found

    def look(self, place: ReadPlace, arguments: Iterable[ast.expr | None], least: int) -> None:
        """Examine the numbers that a call of a function passes; those below ``least`` do not count."""
        for argument in arguments:
            if argument is None or _is_no_number(argument):
                continue
            size = size_of(argument, place)
            if is_off(size, least):
                self.found.add(place.file.path)
            if is_followed(place.scope) and _is_open(size):
                self._makers[place.file, place.scope] = None


def _is_no_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is not int


def _is_open(size: Size | None) -> bool:
    """Whether a number depends on an argument of the function."""
    return size is None or size.value is None or bool(size.assumed)


def _layer_calls(file: FileIndex) -> Iterator[tuple[ReadPlace, ast.Call, str]]:
    """The calls of a file that create a layer, and which one."""
    imported = {name for name in file.names.bound if file.names.resolve(name) in KINDS}
    for name in sorted(_LAYERS | imported):
        for scope, statement, call in file.calls_named(name):
            kind = file.names.resolve(dotted(call.func) or "")
            if kind in KINDS:
                yield ReadPlace(file, scope, statement), call, kind
