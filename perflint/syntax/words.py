"""Finds by text, without parsing, whether a name occurs, is called, or is the base of a class."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

_WORDS = bytes(code if code > 127 or chr(code).isalnum() or chr(code) == "_" else 32 for code in range(256))
"""A table that turns everything that is not part of an identifier into a space."""
_WORDS_AND_CALLS = _WORDS[:40] + b"(" + _WORDS[41:]
_OPENS = re.compile(r"[^\w(]*\(")
_DOT = re.compile(r"\.[\s\\]+\Z")
_WORD = re.compile(r"\w+")
_CLASS = re.compile(r"class\s+\w+\s*\(([^:]*)")


@dataclass(frozen=True)
class Uses:
    """The words of a text by their context.

    ``called``: before a ``(`` that does not belong to a definition. ``others``: anywhere else. ``bases``: in a class
    header.
    """

    called: frozenset[str]
    others: frozenset[str]
    bases: frozenset[str]


def is_called(text: str, name: str) -> bool:
    """Whether ``uses`` would have a name among the called ones; faster for one name."""
    opened = (at for at in places(text, name) if _OPENS.match(text, at + len(name)))
    return any(not text.startswith("def ", max(at - 4, 0), at) for at in opened)


def is_held(text: str, name: str) -> bool:
    """Whether ``uses`` would have a name among those that are not called; faster for one name."""
    return any(not text.startswith("(", at + len(name)) for at in places(text, name))


def is_derived(text: str, name: str) -> bool:
    """Whether ``uses`` would have a name among the bases; faster for one name."""
    return any(name in header and name in _WORD.findall(header) for header in _CLASS.findall(text))


def is_member(text: str, name: str) -> bool:
    """Whether a name follows a dot somewhere in a text."""
    return any(text[at - 1 : at] == "." or _DOT.search(text, max(at - 99, 0), at) for at in places(text, name))


def places(text: str, name: str) -> Iterator[int]:
    """The character offsets of a name as a whole word in a text; none for an empty name."""
    at = text.find(name) if name else -1  # compiling a pattern for each name would take longer than searching
    while at >= 0:
        end = at + len(name)
        if not (_is_part(text, at - 1) or _is_part(text, end)):
            yield at
        at = text.find(name, end)


def _is_part(text: str, at: int) -> bool:
    """Whether the character at an offset can be part of a name; False before and after the text."""
    return 0 <= at < len(text) and (text[at].isalnum() or text[at] == "_")


def words(text: str) -> frozenset[str]:
    """The words of a text: runs of characters of identifiers, normalized like Python's identifiers."""
    return frozenset(_plain(folded(text), _WORDS).split())


def uses(text: str) -> Uses:
    """The words of a text by their context."""
    text = folded(text)
    tokens = _plain(text, _WORDS_AND_CALLS).replace("(", "( ").split()  # called words keep their "("
    called = {
        word[:-1]
        for before, word in zip(["", *tokens], tokens, strict=False)
        if word[-1] == "(" and word != "(" and before != "def"
    }
    called |= {word for word, after in pairwise(tokens) if after == "("}  # could be: ``x = (1, 2)``
    others = {word for word in tokens if word[-1] != "("}
    bases = (_WORD.findall(header) for header in _CLASS.findall(text))
    return Uses(frozenset(called), frozenset(others), frozenset(name for names in bases for name in names))


def _plain(text: str, table: bytes) -> str:
    """The text with every character replaced that a table of bytes maps to a space."""
    return text.encode("utf-8", "replace").translate(table).decode()


def folded(text: str) -> str:
    """The text normalized as Python does for identifiers."""
    return text if text.isascii() else unicodedata.normalize("NFKC", text)
