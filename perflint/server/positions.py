"""Positions in a text as the protocol counts them: rows from 0, columns in the units agreed with the editor."""

from __future__ import annotations

from perflint.text.source import BOM, LineTable

Place = tuple[int, int]
"""Row and column, both from 0."""


class Positions:
    """Converts between character offsets and rows and columns.

    The protocol ends rows where Python does, at ``\\n``, ``\\r\\n`` and ``\\r``; ``str.splitlines`` ends more of them.

    Args:
        text: the document as the editor has it.
        encoding: ``utf-8``, ``utf-16`` or ``utf-32``.
        shift: how many characters precede the start of the offsets: those of a byte order mark.
    """

    def __init__(self, text: str, encoding: str = "utf-16", shift: int = 0) -> None:
        self._table = LineTable(text)
        self._encoding = encoding
        self._shift = shift

    def place(self, offset: int) -> Place:
        """The position of an offset; an offset past the end gives the end."""
        offset = min(max(offset + self._shift, 0), len(self._table.text))
        row, column = self._table.position(offset)
        return row - 1, self._units(self._table.text[offset - column + 1 : offset])

    def offset(self, row: int, column: int) -> int:
        """The offset of a position; one past the end of a row, or of the text, gives that end."""
        return max(self._offset(row, column) - self._shift, 0)

    def line(self, row: int) -> str:
        """The text of a row without its line end; empty past the last one."""
        return self._table.line(row + 1).removeprefix(BOM) if row < self._table.rows else ""

    def _offset(self, row: int, column: int) -> int:
        if row >= self._table.rows:
            return len(self._table.text)
        start, line = self._table.line_start(row + 1), self._table.line(row + 1)
        if self._encoding == "utf-32" or line.isascii():
            return start + min(column, len(line))
        units = 0
        for index, character in enumerate(line):
            units += self._units(character)
            if units > column:  # a column inside a character counts as its start
                return start + index
        return start + len(line)

    def _units(self, text: str) -> int:
        if self._encoding == "utf-32" or text.isascii():
            return len(text)
        if self._encoding == "utf-8":
            return len(text.encode("utf-8", "surrogatepass"))
        return len(text.encode("utf-16-le", "surrogatepass")) // 2
