"""The code frame: the lines of a finding with one line of context, and carets under the range."""

from __future__ import annotations

from collections.abc import Iterator

from perflint.text.colour import Palette
from perflint.text.source import LineTable
from perflint.text.width import clip

_WHOLE = 6
"""Ranges of more rows than this are shown by their first and last rows."""


def frame(lines: LineTable, start: int, end: int, palette: Palette) -> Iterator[str]:
    """The frame around the characters ``start:end``, line by line without line ends."""
    first, _ = lines.position(start)
    last, _ = lines.position(max(start, end - 1))
    rows = _rows(lines, first, last)
    gutter = len(str(max(row for row in rows if row)))
    bar = palette.frame(" " * gutter + " |")
    yield bar
    for row in rows:
        if row is None:
            yield palette.frame("." * gutter + " |")
            continue
        left, right = _columns(lines, row, start, end)
        text, left, right = clip(lines.line(row), left, right)
        yield f"{palette.frame(f'{row:>{gutter}} |')} {text}".rstrip()
        if first <= row <= last and (text.strip() or first == last):
            yield f"{bar} {' ' * left}{palette.code('^' * max(1, right - left))}"
    yield bar


def _rows(lines: LineTable, first: int, last: int) -> list[int | None]:
    """The rows to show; None stands for those left out."""
    ends_in_newline = lines.rows > 1 and not lines.line(lines.rows)
    bottom = max(last, min(last + 1, lines.rows - ends_in_newline))
    shown: list[int | None] = [*range(max(1, first - 1), bottom + 1)]
    if last - first < _WHOLE:
        return shown
    return [*range(max(1, first - 1), first + 3), None, *range(last - 1, bottom + 1)]


def _columns(lines: LineTable, row: int, start: int, end: int) -> tuple[int, int]:
    """The characters of a row that belong to the range, without the blanks around them."""
    line = lines.line(row)
    at = lines.line_start(row)
    indent = next((index for index, char in enumerate(line) if not char.isspace()), len(line))
    left = max(start - at, indent if start < at else 0)
    right = min(end - at, len(line.rstrip()))
    return min(left, len(line)), max(min(left, len(line)), right)
