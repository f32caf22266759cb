"""Computes the width of text on a terminal."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from perflint.text.visible import pieces

TAB = 4
LIMIT = 160
"""How many columns of a code line are shown; longer lines are cut around the relevant part."""
_LEAD = 30
_AROUND = 1000
"""How many characters on either side of the relevant part are examined."""


@dataclass(frozen=True)
class Shown:
    """A line as it is shown; character ``i`` of the source is at display column ``columns[i]``, from 0."""

    text: str
    columns: Sequence[int]


def char_width(char: str) -> int:
    """The number of columns that a character takes: 2 for wide (CJK) ones, 0 for combining ones, else 1."""
    if char.isascii():
        return 1
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def show(line: str) -> Shown:
    """A source line with tabs expanded and other control characters escaped."""
    parts, columns, at = [], [], 0
    for char, piece in zip(line, pieces(line), strict=True):
        columns.append(at)
        shown = " " * (TAB - at % TAB) if char == "\t" else piece
        parts.append(shown)
        at += sum(map(char_width, shown))
    return Shown("".join(parts), [*columns, at])


def clip(line: str, start: int, end: int, limit: int = LIMIT) -> tuple[str, int, int]:
    """A line to show, and the display columns of its characters ``start:end``.

    If the line is longer than ``limit`` columns, only the part around ``start`` is kept, with an ellipsis for the rest.
    """
    if len(line) > 2 * _AROUND:  # only the part that can be shown is examined: a line may have megabytes
        low = max(0, start - _AROUND)
        near = line[low : start + _AROUND]
        text, left, right = _clipped(near, start - low, min(end - low, len(near)), limit)
        head = "" if low == 0 or text.startswith("…") else "…"
        tail = "" if low + len(near) == len(line) or text.endswith("…") else "…"
        return head + text + tail, len(head) + left, len(head) + right
    return _clipped(line, start, end, limit)


def _clipped(line: str, start: int, end: int, limit: int) -> tuple[str, int, int]:
    whole = show(line)
    if whole.columns[-1] <= limit:
        return whole.text, whole.columns[start], whole.columns[end]
    first = next(i for i, column in enumerate(whole.columns) if column >= max(0, whole.columns[start] - _LEAD))
    head = "…" if first else ""
    last = first
    while last < len(line) and whole.columns[last + 1] - whole.columns[first] <= limit:
        last += 1
    part = show(line[first:last])
    text = head + part.text + ("…" if last < len(line) else "")
    return text, len(head) + part.columns[start - first], len(head) + part.columns[min(end, last) - first]
