"""A project of which some files are edited: its answers know which parts of those files they depend on."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from typing import cast

from perflint.configuration.settings import Settings
from perflint.flow.resolving import Resolving
from perflint.incremental.kept_file import KeptFile
from perflint.incremental.renewed import take_apart
from perflint.incremental.revisions import Part, RevisedMemory
from perflint.index.project import FileIndex, Mentions, Project
from perflint.query import query
from perflint.text.source import Source


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
        self.resolving = Resolving.of(self)
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
