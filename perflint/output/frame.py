"""The code frame: the first line of a finding, with carets under the code that it is about."""

from __future__ import annotations

from dataclasses import dataclass

from perflint.text.source import LineTable
from perflint.text.visible import LIMIT, Palette, clip


@dataclass(frozen=True)
class CodeFrame:
    """Two lines without line ends, and the width of the second one on a terminal."""

    code: str
    mark: str
    width: int


def frame(
    lines: LineTable, start: int, end: int, palette: Palette, gutter: int | None = None, limit: int = LIMIT
) -> CodeFrame:
    """The frame of the characters ``start:end``; a range of several lines is shown by its first line.

    Args:
        lines: the file.
        start: where the range begins.
        end: where it ends.
        palette: the colours.
        gutter: the width of the line number (default: what the number needs).
        limit: the width of the code that is shown.
    """
    row, _ = lines.position(start)
    last, _ = lines.position(max(start, end - 1))
    gutter = len(str(row)) if gutter is None else gutter
    text, left, right = clip(lines.line(row), *_columns(lines, row, start, end), limit)
    carets = "^" * max(1, right - left) + (f" ... to line {last}" if last > row else "")
    bar = " " * gutter + " |"
    code = f"{palette.frame(f'{row:>{gutter}} |')} {text}".rstrip()
    mark = f"{palette.frame(bar)} {' ' * left}{palette.code(carets)}"
    return CodeFrame(code, mark, len(bar) + 1 + left + len(carets))


def _columns(lines: LineTable, row: int, start: int, end: int) -> tuple[int, int]:
    """The characters of a row that belong to the range, without the spaces around them."""
    line = lines.line(row)
    at = lines.line_start(row)
    left = min(max(start - at, 0), len(line))
    return left, max(left, min(end - at, len(line.rstrip())))
