"""Which files can hold a misaligned width: told from the layers up, so that few of the others are parsed or followed.

Most files make layers only with numbers that are aligned, or that nobody knows.  What is left are the files with an odd
number in a layer, or in a call of something that makes layers with what it is handed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from perflint.dataflow.sizes import Size, is_super_init, size_of
from perflint.dataflow.sole_binding import ReadPlace
from perflint.facts import amp
from perflint.facts.layers import KINDS, MAX_DEPTH, MULTIPLE, SMALLEST, is_off, width_arguments
from perflint.index.hierarchy import Hierarchy
from perflint.query import query
from perflint.syntax.names import dotted, spellings
from perflint.syntax.parameters import arguments_of
from perflint.syntax.scopes import Class, Scope

if TYPE_CHECKING:
    from perflint.index.project import FileIndex, Project

_LAYERS = frozenset(kind.rpartition(".")[2] for kind in spellings(KINDS))

_Call = tuple[ReadPlace, ast.Call]


def may_be_misaligned(file: FileIndex) -> bool:
    """Whether a layer of a file may have a misaligned width and be trained under AMP; quicker to ask.

    Of a project that is edited this is not asked: an edit would ask all files again, where what is remembered of each
    function is quick enough.
    """
    return file.project.is_edited or file.path in files(file.project)


@query(portable=True)
def files(project: Project) -> frozenset[str]:
    """The paths of the files that can hold a misaligned layer under AMP: more than do, never fewer.

    Calls are followed by their names alone, and as deep as a width is; a number that depends on what a function is
    handed is taken to be any number.
    """
    if not any(amp.mentions_amp(file) for file in project.files.values()):
        return frozenset()
    search = _Search()
    for file in project.mentions.of(*sorted(_LAYERS)):
        for place, call, kind in _layer_calls(file):
            search.look(place, width_arguments(call, kind), SMALLEST)
    for _ in range(MAX_DEPTH):
        for place, call in _sites(search.taken_makers(), project):
            search.look(place, arguments_of(call), MULTIPLE)
    return frozenset(search.found)


class _Search:
    """The files found so far, and the functions that make layers with what they are handed."""

    def __init__(self) -> None:
        self.found: set[str] = set()
        self._makers: dict[Scope, None] = {}
        self._seen: set[Scope] = set()

    def taken_makers(self) -> list[Scope]:
        """The functions that nobody has asked for yet."""
        found = [scope for scope in self._makers if scope not in self._seen]
        self._seen.update(found)
        return found

    def look(self, place: ReadPlace, arguments: Iterable[ast.expr | None], least: int) -> None:
        """Look at the numbers that a call of a function hands over; those below ``least`` do not count."""
        for argument in arguments:
            if argument is None or _is_no_number(argument):
                continue
            size = size_of(argument, place)
            if is_off(size, least):
                self.found.add(place.file.path)
            if _is_callable(place.scope) and _is_open(size):
                self._makers[place.scope] = None


def _is_no_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is not int


def _is_open(size: Size | None) -> bool:
    """Whether a number may be another one, by what the function is handed."""
    return size is None or size.value is None or bool(size.assumed)


def _is_callable(scope: Scope) -> bool:
    """Whether a width is followed into a function: one of the module, or what makes an object of a class."""
    if scope.owner is not None:
        return scope.name == "__init__"
    return scope.parent is not None and scope.parent.parent is None


def _layer_calls(file: FileIndex) -> Iterator[tuple[ReadPlace, ast.Call, str]]:
    """The calls of a file that make a layer, and which."""
    imported = {name for name in file.names.bound if file.names.resolve(name) in KINDS}
    for name in sorted(_LAYERS | imported):
        for scope, statement, call in file.calls_named(name):
            kind = file.names.resolve(dotted(call.func) or "")
            if kind in KINDS:
                yield ReadPlace(file, scope, statement), call, kind


def _sites(scopes: Iterable[Scope], project: Project) -> Iterator[_Call]:
    """The calls that may reach one of these functions, by name."""
    names: set[str] = set()
    for scope in scopes:
        if scope.owner is None:
            names.add(scope.name)
            continue
        names.add(scope.owner.name)
        for file, child in Hierarchy.of(project).descendants(scope.owner):
            if "__init__" in child.methods:
                yield from _to_super(child, file)
            else:
                names.add(child.name)
    for name in sorted({other for known in names for other in project.mentions.other_names(known)}):
        for file in project.mentions.calls(name):
            for where, statement, call in file.calls_named(name):
                yield ReadPlace(file, where, statement), call


def _to_super(child: Class, file: FileIndex) -> Iterator[_Call]:
    for where, statement, call in file.calls_named("__init__"):
        if where.owner is child and is_super_init(call):
            yield ReadPlace(file, where, statement), call
