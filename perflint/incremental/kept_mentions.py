"""The inverted index of a project that is kept: who asks for a word is noted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from perflint.incremental.tracking import Log, Table
from perflint.index.mentions import Mentions
from perflint.index.project import FileIndex

WORD = "word"
"""What a need of a word begins with."""


class KeptMentions(Mentions[FileIndex]):
    """The inverted index of a project that is kept."""

    def __init__(self, files: Iterable[FileIndex], log: Log) -> None:
        super().__init__(files)
        self._log = log
        self._several = Table(log)
        self._other_names = Table(log)
        _ = self._by_word  # before anything notes who asks for words

    def of(self, *names: str) -> list[FileIndex]:
        """The files that have all of these words."""
        self._log.asked.extend((WORD, name) for name in names)
        return super().of(*names)

    def _with(self, word: str) -> list[FileIndex]:
        return self._by_word.get(word, [])

    def move(self, file: FileIndex, added: Iterable[str], removed: Iterable[str]) -> None:
        """Enter a file under words that it has gained, and take it out under those that it has lost."""
        known = cast("dict[str, list[FileIndex]]", self._by_word)
        for word in removed:
            known[word] = [other for other in known[word] if other is not file]
        for word in added:
            has_it = {id(other) for other in known.get(word, ())} | {id(file)}
            known[word] = [other for other in self._files if id(other) in has_it]
