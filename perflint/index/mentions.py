"""Which files of a project can name something: told by their text, so that the others need not be parsed for it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

_WORDS = bytes(code if code > 127 or chr(code).isalnum() or chr(code) == "_" else 32 for code in range(256))
"""What is no part of an identifier made a space."""
_WORDS_AND_CALLS = _WORDS[:40] + b"(" + _WORDS[41:]
_OPENS = re.compile(r"[^\w(]*\(")
_ENDS = re.compile(r"\s*(?:[)#;\\]|$)", re.MULTILINE)
_AS = re.compile(r"\s+as\s+(\w+)")
_DOT = re.compile(r"\.[\s\\]+\Z")
_WORD = re.compile(r"\w+")
_CLASS = re.compile(r"class\s+\w+\s*\(([^:]*)")

if TYPE_CHECKING:
    from perflint.index.file import FileIndex

_FEW = 500
"""Words for which all files are looked through: an index of all words takes as long as so many."""


class Mentions:
    """Looks for names in the texts of one project.  Every answer is a superset, with the files in their order.

    Args:
        files: every file of the project.
    """

    def __init__(self, files: Iterable[FileIndex]) -> None:
        self._files = list(files)
        self._single: dict[str, list[FileIndex]] = {}
        self._several: dict[tuple[str, ...], list[FileIndex]] = {}
        self._other_names: dict[str, frozenset[str]] = {}

    def of(self, *names: str) -> list[FileIndex]:
        """The files in which one of these words stands."""
        if len(names) == 1:
            return self._with(names[0])
        if not names:
            return []
        if names not in self._several:
            self._several[names] = [file for file in self._files if not file.words.isdisjoint(names)]
        return self._several[names]

    def _with(self, word: str) -> list[FileIndex]:
        if word not in self._single:
            few = len(self._single) < _FEW
            self._single[word] = (
                [file for file in self._files if word in file.words] if few else self._by_word.get(word, [])
            )
        return self._single[word]

    @cached_property
    def _by_word(self) -> Mapping[str, list[FileIndex]]:
        found: dict[str, list[FileIndex]] = {}
        for file in self._files:
            for word in file.words:
                found.setdefault(word, []).append(file)
        return found

    def calls(self, name: str) -> list[FileIndex]:
        """The files that can call something by this name: ``name(`` stands there, and not after ``def``."""
        return [file for file in self.of(name) if file.may_call(name)]

    def values(self, name: str) -> list[FileIndex]:
        """The files that can use a function of this name as a value: it stands there without a ``(`` after it."""
        return [file for file in self.of(name) if file.may_hold(name)]

    def assigned(self, name: str) -> list[FileIndex]:
        """The files that can bind something to a function of this name: it ends a statement with a ``=`` before it."""

        def is_assigned(text: str) -> bool:
            return any(_ENDS.match(text, at + len(name)) and _follows_equals(text, at) for at in places(text, name))

        return [file for file in self.values(name) if file.of_text(("assigned", name), is_assigned)]

    def bases(self, name: str) -> list[FileIndex]:
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


@dataclass(frozen=True)
class Uses:
    """The words of a text by what stands around them.

    ``called``: before a ``(`` that makes no definition.  ``others``: anywhere else.  ``bases``: in a class header.
    """

    called: frozenset[str]
    others: frozenset[str]
    bases: frozenset[str]


def is_called(text: str, name: str) -> bool:
    """Whether ``uses`` has a name among what a text calls; quicker for one name."""
    return any(
        _OPENS.match(text, at + len(name)) and not text.startswith("def ", max(at - 4, 0), at)
        for at in places(text, name)
    )


def is_held(text: str, name: str) -> bool:
    """Whether ``uses`` has a name among what stands in a text without being called; quicker for one name."""
    return any(not text.startswith("(", at + len(name)) for at in places(text, name))


def is_derived(text: str, name: str) -> bool:
    """Whether ``uses`` has a name among the bases in a text; quicker for one name."""
    return any(name in header and name in _WORD.findall(header) for header in _CLASS.findall(text))


def is_member(text: str, name: str) -> bool:
    """Whether a name stands behind a dot somewhere in a text."""
    return any(text[at - 1 : at] == "." or _DOT.search(text, max(at - 99, 0), at) for at in places(text, name))


def places(text: str, name: str) -> Iterator[int]:
    """Where a name stands in a text as a whole word: offsets in characters.

    Args:
        text: any.
        name: nowhere, if it is empty.
    """
    at = text.find(name) if name else -1  # a pattern of each name would take longer to compile than to look for
    while at >= 0:
        end = at + len(name)
        if not (_is_part(text, at - 1) or _is_part(text, end)):
            yield at
        at = text.find(name, end)


def _is_part(text: str, at: int) -> bool:
    """Whether a character can stand in a name; there is none before a text and behind it."""
    return 0 <= at < len(text) and (text[at].isalnum() or text[at] == "_")


def words(text: str) -> frozenset[str]:
    """The words of a text: runs of what can stand in an identifier, as Python compares identifiers."""
    return frozenset(_plain(folded(text), _WORDS).split())


def uses(text: str) -> Uses:
    """The words of a text by what stands around them."""
    text = folded(text)
    tokens = _plain(text, _WORDS_AND_CALLS).replace("(", "( ").split()  # what is called keeps its "("
    called = {
        word[:-1]
        for before, word in zip(["", *tokens], tokens, strict=False)
        if word[-1] == "(" and word != "(" and before != "def"
    }
    called |= {word for word, after in pairwise(tokens) if after == "("}  # perhaps: ``x = (1, 2)``
    others = {word for word in tokens if word[-1] != "("}
    bases = (_WORD.findall(header) for header in _CLASS.findall(text))
    return Uses(frozenset(called), frozenset(others), frozenset(name for names in bases for name in names))


def _plain(text: str, table: bytes) -> str:
    """The text with a space for every character that a table of bytes makes one."""
    return text.encode("utf-8", "replace").translate(table).decode()


def folded(text: str) -> str:
    """The text as Python compares identifiers."""
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


def _follows_equals(text: str, at: int) -> bool:
    """Whether a ``=`` stands before a place in its row, or the row goes on from the one before it."""
    row = text.rfind("\n", 0, at) + 1
    return "=" in text[row:at] or text[:row].rstrip()[-1:] in tuple("=(,\\")
