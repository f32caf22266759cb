"""Finds functions and their calls by text alone; a function may get too much text, never too little."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_CALLED = re.compile(r"\b(\w+)\s*\(")
_DEFINITION = re.compile(r"def[\s\\]+(\w+)")
_QUOTES = ('"""', "'''")


@dataclass(frozen=True)
class _Function:
    """Where a function begins: its name, its indentation, and the end of its name."""

    name: str
    depth: int
    row: int
    start: int


def function_texts(text: str) -> Iterator[tuple[str, str]]:
    """The name of each function of a file, and the text after its name, including nested functions."""
    functions = [function for match in _DEFINITION.finditer(text) if (function := _function(match)) is not None]
    for number, function in enumerate(functions):
        yield function.name, text[function.start : _end(text, function, functions[number + 1 :])]


def _function(match: re.Match[str]) -> _Function | None:
    """The function that a ``def`` begins; None for one in a comment or in a string."""
    text, start = match.string, match.start()
    row = text.rfind("\n", 0, start) + 1
    before = text[row:start].rpartition("\f")[2]  # where Python restarts counting the indentation
    if before.strip() not in ("", "async"):
        return None
    return _Function(match[1], len(before.expandtabs()) - len(before.lstrip()), row, match.end())


def _end(text: str, function: _Function, later: list[_Function]) -> int:
    """Where a function ends: before the next one that is not nested, nor inside a string."""
    for other in later:
        if other.depth <= function.depth and not any(
            text.count(quotes, function.start, other.row) % 2 for quotes in _QUOTES
        ):
            return other.row
    return len(text)


def may_call(text: str, names: frozenset[str]) -> bool:
    """Whether a ``forward``, or a function of the same file that it calls, may call one of these names."""
    if "forward" not in text:
        return False
    functions = list(function_texts(text))
    called = _called(functions, {"forward"})
    return not names.isdisjoint(called) or not names.isdisjoint(_called(functions, called))


def _called(functions: list[tuple[str, str]], wanted: set[str]) -> set[str]:
    """The last names of the calls in functions with these names."""
    return {name for known, text in functions if known in wanted for name in _CALLED.findall(text)}
