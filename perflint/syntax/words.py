"""What a text says of a name without being parsed: that it stands there, is called, or is the base of a class."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

_WORDS = bytes(code if code > 127 or chr(code).isalnum() or chr(code) == "_" else 32 for code in range(256))
"""What is no part of an identifier made a space."""
_WORDS_AND_CALLS = _WORDS[:40] + b"(" + _WORDS[41:]
_OPENS = re.compile(r"[^\w(]*\(")
_DOT = re.compile(r"\.[\s\\]+\Z")
_WORD = re.compile(r"\w+")
_CLASS = re.compile(r"class\s+\w+\s*\(([^:]*)")


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
    opened = (at for at in places(text, name) if _OPENS.match(text, at + len(name)))
    return any(not text.startswith("def ", max(at - 4, 0), at) for at in opened)


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
    """Where a name stands in a text as a whole word: offsets in characters.  An empty name stands nowhere."""
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
