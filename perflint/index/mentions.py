"""Finds by text which files of a project can name something, so that the others need not be parsed for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Generic, TypeVar

from perflint.syntax.file_text import FileText

F = TypeVar("F", bound=FileText)

_FEW = 500
"""How many words are searched for in all files: an index of all words takes as long as that many searches."""


class Mentions(Generic[F]):
    """Looks for names in the texts of one project. Every answer is a superset, in the order of the files.

    Args:
        files: every file of the project.
    """

    def __init__(self, files: Iterable[F]) -> None:
        self._files = list(files)
        self._single: dict[str, list[F]] = {}
        self._several: dict[tuple[str, ...], list[F]] = {}
        self._other_names: dict[str, frozenset[str]] = {}

    def of(self, *names: str) -> list[F]:
        """The files that contain one of these words."""
        if len(names) == 1:
            return self._with(names[0])
        if not names:
            return []
        if names not in self._several:
            self._several[names] = [file for file in self._files if file.has_words(*names)]
        return self._several[names]

    def _with(self, word: str) -> list[F]:
        if word not in self._single:
            few = len(self._single) < _FEW
            self._single[word] = (
                [file for file in self._files if word in file.words] if few else self._by_word.get(word, [])
            )
        return self._single[word]

    @cached_property
    def _by_word(self) -> Mapping[str, list[F]]:
        found: dict[str, list[F]] = {}
        for file in self._files:
            for word in file.words:
                found.setdefault(word, []).append(file)
        return found

    def calls(self, name: str) -> list[F]:
        """The files that can call something by this name: they contain ``name(``, not after ``def``."""
        return [file for file in self.of(name) if file.may_call(name)]

    def values(self, name: str) -> list[F]:
        """The files that can use a function of this name as a value: they contain it without a ``(`` after it."""
        return [file for file in self.of(name) if file.may_hold(name)]

    def assigned(self, name: str) -> list[F]:
        """The files that can bind something to a function of this name: it ends a statement with a ``=``."""
        return [file for file in self.values(name) if file.may_assign(name)]

    def bases(self, name: str) -> list[F]:
        """The files in which a class can name this one as its base."""
        return [file for file in self.of(name) if file.may_derive(name)]

    def other_names(self, name: str) -> frozenset[str]:
        """Other names that a function or class of this name may have, as by ``import name as other``."""
        if name not in self._other_names:
            self._other_names[name] = self._find_other_names(name)
        return self._other_names[name]

    def _find_other_names(self, name: str) -> frozenset[str]:
        found, queue = {name}, [name]
        while queue:
            known = queue.pop()
            for file in self.of(known):
                new = set(file.renamings(known)) - found
                found |= new
                queue += new
        return frozenset(found)
