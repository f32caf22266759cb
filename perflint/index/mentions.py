"""Which files of a project can name something: told by their text, so that the others need not be parsed for it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Generic, TypeVar

from perflint.syntax.file_text import FileText
from perflint.syntax.words import places

F = TypeVar("F", bound=FileText)

_ENDS = re.compile(r"\s*(?:[)#;\\]|$)", re.MULTILINE)
_AS = re.compile(r"\s+as\s+(\w+)")

_FEW = 500
"""Words for which all files are looked through: an index of all words takes as long as so many."""


class Mentions(Generic[F]):
    """Looks for names in the texts of one project.  Every answer is a superset, with the files in their order.

    Args:
        files: every file of the project.
    """

    def __init__(self, files: Iterable[F]) -> None:
        self._files = list(files)
        self._single: dict[str, list[F]] = {}
        self._several: dict[tuple[str, ...], list[F]] = {}
        self._other_names: dict[str, frozenset[str]] = {}

    def of(self, *names: str) -> list[F]:
        """The files in which one of these words stands."""
        if len(names) == 1:
            return self._with(names[0])
        if not names:
            return []
        if names not in self._several:
            self._several[names] = [file for file in self._files if not file.words.isdisjoint(names)]
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
        """The files that can call something by this name: ``name(`` stands there, and not after ``def``."""
        return [file for file in self.of(name) if file.may_call(name)]

    def values(self, name: str) -> list[F]:
        """The files that can use a function of this name as a value: it stands there without a ``(`` after it."""
        return [file for file in self.of(name) if file.may_hold(name)]

    def assigned(self, name: str) -> list[F]:
        """The files that can bind something to a function of this name: it ends a statement with a ``=`` before it."""

        def is_assigned(text: str) -> bool:
            return any(_ENDS.match(text, at + len(name)) and _follows_equals(text, at) for at in places(text, name))

        return [file for file in self.values(name) if file.of_text(("assigned", name), is_assigned)]

    def bases(self, name: str) -> list[F]:
        """The files in which a class can name this one as its base."""
        return [file for file in self.of(name) if file.may_derive(name)]

    def other_names(self, name: str) -> frozenset[str]:
        """What a function or class of this name may be called anywhere: ``import name as other`` makes another."""
        if name not in self._other_names:
            found, queue = {name}, [name]
            while queue:
                known = queue.pop()

                def renamed(text: str, known: str = known) -> list[str]:
                    after = (_AS.match(text, at + len(known)) for at in places(text, known))
                    return [match[1] for match in after if match is not None]

                for file in self.of(known):
                    others = file.of_text(("renamed", known), renamed) if "as" in file.words else ()
                    new = set(others) - found
                    found |= new
                    queue += new
            self._other_names[name] = frozenset(found)
        return self._other_names[name]


def _follows_equals(text: str, at: int) -> bool:
    """Whether a ``=`` stands before a place in its row, or the row goes on from the one before it."""
    row = text.rfind("\n", 0, at) + 1
    return "=" in text[row:at] or text[:row].rstrip()[-1:] in tuple("=(,\\")
