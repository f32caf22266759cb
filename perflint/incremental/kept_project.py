"""A project of which some files are edited: its answers know which parts of those files they depend on.

The contents of such a file are cached like any answer, because an edit may change them.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, cast

from perflint.configuration.settings import Settings
from perflint.flow.resolving import resolver_of
from perflint.incremental.renewed import note_looks, renew_body, renew_scopes, take_apart
from perflint.incremental.revisions import Part, RevisedMemory
from perflint.index.project import FileIndex, Mentions, Project
from perflint.query import query
from perflint.syntax.file_text import FileText
from perflint.syntax.names import Names
from perflint.syntax.scopes import Class, FileScopes, Scope
from perflint.text.source import Source, lines_of

# --- files

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
        vars(self).update(source=replace(source, text=text), tree=tree, scopes=now)
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


def _is_answer(member: object) -> bool:
    """Whether a method of a file returns an answer that can be kept."""
    returned = member.__annotations__.get("return", "") if inspect.isfunction(member) else "None"
    return returned != "None" and not returned.startswith("Iterator")


def _cache_like_answers() -> None:
    """Make the cached properties and the public methods of a file queries, so that they are right after an edit."""
    inherited = vars(FileText) | vars(FileIndex)
    for name, member in inherited.items():
        if name in _PARTS:
            setattr(KeptFile, name, _noted(name))
        elif isinstance(member, cached_property):
            setattr(KeptFile, name, property(query(member.func)))
        elif not name.startswith("_") and name not in vars(KeptFile) and _is_answer(member):
            setattr(KeptFile, name, query(member))
    setattr(KeptFile, "source", _noted("source"))  # noqa: B010 - a field, which has no default


_cache_like_answers()


class KeptProject(Project):
    """The index of files that are checked again and again while some of them are edited.

    Args:
        sources: every readable file by path.
        settings: the settings of the run.
        paths: the files that may be edited.
        known: an index of an earlier state; files with the same source are not parsed again.
    """

    memory: RevisedMemory
    mentions: KeptMentions
    is_edited = True

    def __init__(
        self,
        sources: Mapping[str, Source],
        settings: Settings,
        paths: frozenset[str] = frozenset(),
        known: Project | None = None,
    ) -> None:
        self.paths = paths
        self._earlier = known.files if known is not None else {}
        super().__init__(sources, settings, RevisedMemory())
        self._earlier = {}
        self.resolving = resolver_of(self)
        for path in paths:
            self._edited(path).open()

    def _file(self, source: Source, parts: tuple[str, ...]) -> FileIndex:
        made = KeptFile(source, parts, self, source.path in self.paths)
        before = self._earlier.get(source.path)
        if before is not None and before.source is source and source.path not in self.paths:
            made.take_over(before)
            if source.path in before.project.broken:
                self.broken[source.path] = before.project.broken[source.path]
        return made

    def _mentions(self) -> Mentions[FileIndex]:
        return KeptMentions(self.files.values(), self.memory)

    def _edited(self, path: str) -> KeptFile:
        return cast("KeptFile", self.files[path])

    def put(self, path: str, text: str, anyway: bool = False) -> Exception | None:
        """Replace the text of a file; return the syntax error, if any.

        Args:
            path: one of those that may be edited.
            text: the new one.
            anyway: also accept a text that does not parse; the file is then empty.
        """
        error: Exception | None = None
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as problem:
            error, tree = problem, ast.Module([], [])
        if error is None or anyway:
            self.broken.pop(path, None)
            if error is not None:
                self.broken[path] = error
            self._renew(self._edited(path), text, tree)
        return error

    def _renew(self, file: KeptFile, text: str, tree: ast.Module) -> None:
        """Record what an edit changes: parts of the file, and which files contain a word."""
        words = file.words
        changed, gone = file.put(text, tree)
        self.memory.change([*changed, *self.mentions.move(file, words)])
        self.memory.forget(frozenset(gone))
        for part in gone:
            take_apart(part)


class KeptMentions(Mentions[FileIndex]):
    """The inverted index of a kept project; it records who looks up a word."""

    def __init__(self, files: Iterable[FileIndex], memory: RevisedMemory) -> None:
        super().__init__(files)
        self.memory = memory
        _ = self._by_word  # before recording who looks up words

    @query
    def of(self, *names: str) -> list[FileIndex]:
        """The files that contain one of these words."""
        for name in names:
            self.memory.note((name, "word"))
        found = {id(file) for name in names for file in self._by_word.get(name, ())}
        return [file for file in self._files if id(file) in found]

    @query
    def other_names(self, name: str) -> frozenset[str]:
        """The other names that a function or class of this name may have anywhere."""
        return self._find_other_names(name)

    def move(self, file: FileIndex, before: frozenset[str]) -> list[Part]:
        """Add a file under the words that it has gained, and remove it under those it has lost; return these words.

        Args:
            file: one of the files, which has another text now.
            before: the words that it had.
        """
        known, words = cast("dict[str, list[FileIndex]]", self._by_word), file.words
        for word in before - words:
            known[word].remove(file)
        for word in words - before:
            known.setdefault(word, []).append(file)
        return [(word, "word") for word in before ^ words]
