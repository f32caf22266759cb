"""A file of a kept project: its own contents are cached like any answer, because an edit may change them."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

from perflint.incremental.renewed import note_looks, renew_body, renew_scopes
from perflint.incremental.revisions import Part, RevisedMemory
from perflint.index.project import FileIndex, Project
from perflint.query import query
from perflint.syntax.file_text import folded
from perflint.syntax.names import Names
from perflint.syntax.scopes import Class, FileScopes, Scope
from perflint.text.source import Source, lines_of

_METHODS = (
    *("has", "has_words", "matches", "may_be_member", "may_assign", "renamings"),
    *("calls_named", "loads_named", "scopes_where"),
)
_PROPERTIES = ("identifiers", "loads", "is_foreign", "is_static", "is_offline", "may_have_stars", "scales")
_PARTS = {"source": "text", "words": "text", "tree": "text", "scopes": "definitions"}
"""The attributes with nodes and text, and the part of the file that each counts as."""


class KeptFile(FileIndex):
    """A file of a kept project; if it is edited, it is recorded who uses which of its parts.

    The parts are its text, the names that it binds, the list of its definitions, and each definition.
    """

    memory: RevisedMemory

    def __init__(self, source: Source, parts: tuple[str, ...], project: Project, is_edited: bool) -> None:
        self._path = source.path
        self._named = {part: (source.path, part) for part in ("text", "names", "definitions")}
        self._is_edited = is_edited
        super().__init__(source, parts, project)

    @property
    def path(self) -> str:
        """The path of the file."""
        return self._path

    @property
    def names(self) -> Names:
        """What the file's imports and definitions bind."""
        self.note("names")
        return cast("FileScopes", vars(self)["scopes"]).names if self._is_edited else super().names

    @query
    def row(self, node: ast.AST) -> int:
        """The row of a node, which an edit may move."""
        self.note("text")
        return super().row(node)

    @query
    def _told(self, how: str, name: str, answer: Callable[[str, str], bool]) -> bool:
        return answer(folded(self.source.text), name)

    def note(self, part: str) -> None:
        """Note that a part of the file is used."""
        if self._is_edited:
            self.memory.note(self._named[part])

    def take_over(self, other: FileIndex) -> None:
        """Take over what another project's index of the same text has."""
        vars(self).update({name: known for name, known in vars(other).items() if name in _PARTS})

    def open(self) -> None:
        """Start recording who uses the definitions."""
        note_looks(self.scopes, self._named["text"], self.memory.note)

    def put(self, text: str, tree: ast.Module) -> tuple[list[Part], list[Scope | Class]]:
        """Replace the text and the tree.

        Returns:
            The parts of the file that have changed, and the functions and classes that are gone.
        """
        source, scopes = self.source, self.scopes
        renew_body(self.tree.body, tree.body, lines_of(source.text), lines_of(text))
        now = FileScopes(tree, Names(self.module, self.is_package))
        changed, gone = renew_scopes(scopes, now)
        vars(self).update(source=replace(source, text=text), tree=tree, scopes=now, _asked_calls=None)
        del vars(self)["words"]
        self.open()
        parts: list[Part] = [self._named["text"], *changed]
        if scopes.scopes != now.scopes or scopes.classes != now.classes:
            parts.append(self._named["definitions"])
        if not scopes.names.same(now.names):
            parts.append(self._named["names"])
        return parts, gone


def _noted(name: str) -> property:
    """An attribute of a file, or something cached about its text, that records who uses it."""
    original = inspect.getattr_static(FileIndex, name, None)

    def get(self: KeptFile) -> Any:
        self.note(_PARTS[name])
        known = vars(self)
        if name not in known:
            known[name] = original.func(self)
        return known[name]

    def put(self: KeptFile, value: object) -> None:
        vars(self)[name] = value

    return property(get, put, doc=getattr(original, "__doc__", None))


for _name in _PARTS:
    setattr(KeptFile, _name, _noted(_name))
for _name in _METHODS:
    setattr(KeptFile, _name, query(getattr(FileIndex, _name)))
for _name in _PROPERTIES:
    setattr(KeptFile, _name, property(query(inspect.getattr_static(FileIndex, _name).func)))
