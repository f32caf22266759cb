"""A project of which some files are edited: its answers know what of those files they were worked out from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

from perflint.configuration.settings import DeclaredCall
from perflint.dataflow.resolving import Resolving
from perflint.incremental.kept_file import KeptFile
from perflint.incremental.revisions import Part, RevisedMemory
from perflint.index.mentions import Mentions
from perflint.index.project import FileIndex, Project
from perflint.query import query
from perflint.text.source import Source


class KeptProject(Project):
    """The index of files that are checked again and again while some of them are edited.

    Args:
        sources: every readable file by path.
        loaders: the functions that make loaders, by qualified name.
        paths: the files that may be edited.
        known: an index of an earlier state; files with the same source are not parsed again.
    """

    memory: RevisedMemory
    mentions: KeptMentions
    is_edited = True

    def __init__(
        self,
        sources: Mapping[str, Source],
        loaders: Mapping[str, DeclaredCall],
        paths: frozenset[str] = frozenset(),
        known: Project | None = None,
    ) -> None:
        self.paths = paths
        self._earlier = known.files if known is not None else {}
        super().__init__(sources, loaders, RevisedMemory())
        self._earlier = {}
        self.resolving = Resolving.of(self)
        for path in paths:
            self.kept(path).open()

    def _file(self, source: Source, parts: tuple[str, ...]) -> FileIndex:
        made = KeptFile(source, parts, self)
        before = self._earlier.get(source.path)
        if before is not None and before.source is source and source.path not in self.paths:
            made.take_over(before)
            if source.path in before.project.broken:
                self.broken[source.path] = before.project.broken[source.path]
        return made

    def _mentions(self) -> Mentions[FileIndex]:
        return KeptMentions(self.files.values(), self.memory)

    def kept(self, path: str) -> KeptFile:
        """A file."""
        return cast("KeptFile", self.files[path])


class KeptMentions(Mentions[FileIndex]):
    """The inverted index of a project that is kept; who asks for a word is noted."""

    def __init__(self, files: Iterable[FileIndex], memory: RevisedMemory) -> None:
        super().__init__(files)
        self.memory = memory
        self._other_names = memory.table()
        _ = self._by_word  # before anything notes who asks for words

    @query
    def of(self, *names: str) -> list[FileIndex]:
        """The files in which one of these words stands."""
        for name in names:
            self.memory.note((name, "word"))
        found = {id(file) for name in names for file in self._by_word.get(name, ())}
        return [file for file in self._files if id(file) in found]

    def move(self, file: FileIndex, before: frozenset[str]) -> list[Part]:
        """Enter a file under the words that it has gained, and take it out under those that it has lost; these words.

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
