"""Where the functions of a file stand, as its text tells: more of the text may belong to one, never less."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_DEFINITION = re.compile(r"def[\s\\]+(\w+)")
_QUOTES = ('"""', "'''")


@dataclass(frozen=True)
class _Function:
    """Where a function begins: its name, the width of what stands before it in its row, and the end of its name."""

    name: str
    depth: int
    row: int
    start: int


def function_texts(text: str) -> Iterator[tuple[str, str]]:
    """The name of each function of a file, and its text behind the name, with the functions in it."""
    functions = [function for match in _DEFINITION.finditer(text) if (function := _function(match)) is not None]
    for number, function in enumerate(functions):
        yield function.name, text[function.start : _end(text, function, functions[number + 1 :])]


def _function(match: re.Match[str]) -> _Function | None:
    """The function that a ``def`` begins; None for one in a comment or in a string."""
    text, start = match.string, match.start()
    row = text.rfind("\n", 0, start) + 1
    before = text[row:start].rpartition("\f")[2]  # where Python begins to count the indentation anew
    if before.strip() not in ("", "async"):
        return None
    return _Function(match[1], len(before.expandtabs()) - len(before.lstrip()), row, match.end())


def _end(text: str, function: _Function, later: list[_Function]) -> int:
    """Where a function ends: before the next one that is no deeper, and that does not stand in a string of it."""
    for other in later:
        if other.depth <= function.depth and not any(
            text.count(quotes, function.start, other.row) % 2 for quotes in _QUOTES
        ):
            return other.row
    return len(text)
