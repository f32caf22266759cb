"""Which files have a forward pass that can call something: their text tells, so that the others need not be parsed."""

from __future__ import annotations

import re
from dataclasses import dataclass

_DEFINITION = re.compile(r"def[ \t]+(\w+)")
_CALLED = re.compile(r"\b(\w+)\s*\(")
_QUOTES = ('"""', "'''")


@dataclass(frozen=True)
class _Function:
    """Where a function begins: its name, the width of what stands before it in its row, and the end of its name."""

    name: str
    depth: int
    row: int
    start: int


def may_call(text: str, names: frozenset[str]) -> bool:
    """Whether a ``forward``, or a function of the same file that it calls, can call one of these by its last name."""
    if "forward" not in text:
        return False
    functions = [function for match in _DEFINITION.finditer(text) if (function := _function(match)) is not None]
    called = _called(text, functions, {"forward"})
    return not names.isdisjoint(called) or not names.isdisjoint(_called(text, functions, called))


def _function(match: re.Match[str]) -> _Function | None:
    """The function that a ``def`` begins; None for one in a comment or in a string."""
    text, start = match.string, match.start()
    row = text.rfind("\n", 0, start) + 1
    before = text[row:start]
    if before.strip() not in ("", "async"):
        return None
    return _Function(match[1], len(before.expandtabs()) - len(before.lstrip()), row, match.end())


def _called(text: str, functions: list[_Function], wanted: set[str]) -> set[str]:
    """The last names of what the functions of these names call."""
    found: set[str] = set()
    for number, function in enumerate(functions):
        if function.name in wanted:
            found.update(_CALLED.findall(text, function.start, _end(text, function, functions[number + 1 :])))
    return found


def _end(text: str, function: _Function, later: list[_Function]) -> int:
    """Where a function ends: before the next one that is no deeper, and that does not stand in a string of it."""
    for other in later:
        if other.depth <= function.depth and not any(
            text.count(quotes, function.start, other.row) % 2 for quotes in _QUOTES
        ):
            return other.row
    return len(text)
