"""A Python file as text: read, decoded as Python decodes it, and measured in rows and in lines of code.

A string or a backslash joins several rows of a file to one line of code, for reading comments. Brackets do not, because
each of their rows can have its own comment; they join lines to one statement.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate, pairwise
from pathlib import Path

from perflint.files import plain_files

_LINE_END = re.compile(r"\r\n|\r|\n")
_ELSE_ENDS = re.compile("[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
"""What ``str.splitlines`` treats as a line end, but Python does not."""
BOM = "\ufeff"
_GOING_ON = bytes(range(0x80, 0xC0))
"""The continuation bytes of a character in UTF-8."""
_USUAL = ("utf-8", "utf-8-sig", "iso-8859-1", "ascii")
_PLAIN = b"# -*- coding: x -*- " + b"plain_text, " * 20 + b"\n\n"
"""A line that every encoding for source files leaves unchanged; longer than a host name may be (``idna``)."""


class UnreadableSource(Exception):
    """A file that perflint cannot read as Python text; ``str(error)`` says why."""


def lines_of(text: str) -> list[str]:
    """The rows of a text with their line ends, as Python counts them; there is none after a final line end."""
    rows = text.splitlines(keepends=True)
    if _ELSE_ENDS.search(text) is None:
        return rows
    starts = [*_starts(text), len(text)]
    return [text[start:end] for start, end in pairwise(starts) if start < end]


def spans_rows(text: str) -> bool:
    """Whether a piece of a text is on more than one row."""
    return "\n" in text or "\r" in text


def _starts(text: str) -> list[int]:
    """The offset of each row; the last one is empty if the text ends with a line end."""
    if "\r" in text:
        return [0, *(match.end() for match in _LINE_END.finditer(text))]
    rows = text.split("\n")  # many times faster than the pattern
    return [0, *(end + number for number, end in enumerate(accumulate(map(len, rows[:-1])), 1))]


class _Columns:
    """The columns of a row in UTF-8 bytes and in characters: converted without reading the whole row."""

    _PIECE = 512

    def __init__(self, line: str) -> None:
        self._bytes = None if line.isascii() else line.encode("utf-8", "surrogatepass")
        pieces = range(0, len(self._bytes or b""), self._PIECE)
        counts = (self._characters(at, at + self._PIECE) for at in pieces)
        self._before = [0, *accumulate(counts)]
        """How many characters begin before each chunk of the bytes."""

    def character(self, utf8_column: int) -> int:
        """The column in characters (from 0)."""
        if self._bytes is None:
            return utf8_column
        piece = min(utf8_column // self._PIECE, len(self._before) - 1)
        return self._before[piece] + self._characters(piece * self._PIECE, utf8_column)

    def _characters(self, start: int, end: int) -> int:
        """How many characters begin in a range of bytes: one for each byte that is not a continuation."""
        return len((self._bytes or b"")[start:end].translate(None, _GOING_ON))


class LineTable:
    """Rows and columns of a text, with Python's own line ends (``\\n``, ``\\r\\n``, ``\\r`` and no others)."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts = _starts(text)
        self._is_ascii = text.isascii()
        self._last_row = (0, "")
        self._columns: dict[int, _Columns] = {}

    def position(self, offset: int) -> tuple[int, int]:
        """Row and column of a character offset, both counted from 1."""
        row = bisect_right(self._starts, offset)
        return row, offset - self._starts[row - 1] + 1

    def offset(self, row: int, utf8_column: int) -> int:
        """Character offset of an ``ast`` position: row from 1, column from 0 in UTF-8 bytes."""
        start = self._starts[row - 1]
        if self._is_ascii:
            return start + utf8_column
        if row not in self._columns:
            self._columns[row] = _Columns(self.line(row))
        return start + self._columns[row].character(utf8_column)

    def span(self, node: ast.expr | ast.stmt | ast.alias) -> tuple[int, int]:
        """The character offsets of a node in the text's ``ast`` tree."""
        end = self.offset(node.end_lineno or node.lineno, node.end_col_offset or 0)
        return self.offset(node.lineno, node.col_offset), end

    def rows_of(self, start: int, end: int) -> tuple[int, int]:
        """The first and the last row of a range of character offsets."""
        return self.position(start)[0], self.position(max(start, end - 1))[0]

    def between(self, first: int, last: int) -> str:
        """The text of some rows (from 1), with their line ends."""
        return self.text[self.line_start(first) : self.line_end(last)]

    def line_start(self, row: int) -> int:
        """Offset of the first character of a row (from 1)."""
        return self._starts[row - 1]

    def line_end(self, row: int) -> int:
        """Offset just past a row's line end (the end of the text for the last row)."""
        return self._starts[row] if row < len(self._starts) else len(self.text)

    def line(self, row: int) -> str:
        """A row's text without its line end."""
        known, line = self._last_row
        if row != known:  # so that a thousand findings on one row of megabytes copy it only once
            line = self.text[self.line_start(row) : self.line_end(row)].rstrip("\r\n")
            self._last_row = row, line
        return line

    @property
    def rows(self) -> int:
        """How many rows there are; a text that ends in a line end has an empty last row."""
        return len(self._starts)


@dataclass(frozen=True)
class Source:
    """The text of one file, with everything needed to write it back byte for byte.

    ``text`` never starts with a byte order mark; ``encode`` puts it back.
    """

    path: str
    text: str
    encoding: str = "utf-8"
    bom: bool = False

    @cached_property
    def lines(self) -> LineTable:
        """The line table of ``text``."""
        return LineTable(self.text)

    @cached_property
    def rows_text(self) -> str:
        """``text`` with ``\\n`` as its only line end, for patterns that ask for rows; all offsets stay the same."""
        return self.text.replace("\r\n", " \n").replace("\r", "\n") if "\r" in self.text else self.text

    @cached_property
    def newline(self) -> str:
        """The line end the file uses (that of its first line), for text that a fix adds."""
        match = _LINE_END.search(self.text)
        return match.group() if match else "\n"

    def code(self, node: ast.expr | ast.stmt) -> str:
        """The text of a node, without the parentheses around it."""
        start, end = self.lines.span(node)
        return self.text[start:end]

    def encode(self, text: str) -> bytes:
        """``text`` as the bytes of this file.

        Raises:
            UnicodeEncodeError: the file's encoding cannot represent a character of ``text``.
        """
        return ((BOM if self.bom else "") + text).encode("utf-8" if self.bom else self.encoding)


def decode(path: str, data: bytes) -> Source:
    """Decode bytes like Python: byte order mark, then the encoding cookie, then UTF-8.

    Raises:
        UnreadableSource: an unknown encoding or one that is not for files, bytes that do not decode, or a null byte.
    """
    if b"\0" in data:
        raise UnreadableSource("it holds a null byte, as binary files do")
    bom = data.startswith(b"\xef\xbb\xbf")
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        if encoding not in _USUAL and not _keeps_plain_text(encoding):
            raise UnreadableSource(f"it cannot be decoded: {encoding} is not an encoding for text files")
        text = data.decode("utf-8-sig" if bom else encoding)
    except (SyntaxError, UnicodeError, LookupError) as error:
        raise UnreadableSource(f"it cannot be decoded: {error}") from error
    if encoding not in _USUAL and not _has_rows_of(data, text):
        raise UnreadableSource(
            f"it cannot be decoded: with the encoding {encoding} its lines differ from those of its bytes"
        )
    return Source(path, text, encoding, bom)


def _keeps_plain_text(encoding: str) -> bool:
    """Whether a codec reads and writes ASCII unchanged.

    Python has others, which can do harm before any check: ``punycode`` takes time that grows with the square of the
    text, ``unicode_escape`` would rewrite a whole file for one edit, and ``undefined`` always fails.
    """
    try:
        return _PLAIN.decode(encoding).encode(encoding) == _PLAIN == _PLAIN.decode(encoding).encode("ascii")
    except Exception:  # a codec may raise anything, including codecs that other packages register
        return False


def _has_rows_of(data: bytes, text: str) -> bool:
    """Whether a text has as many rows as its bytes: escapes such as ``\\u000a`` would add some."""
    return data.count(b"\n") == text.count("\n") and data.count(b"\r") == text.count("\r")


def read(path: Path) -> Source:
    """The source at ``path``.

    Raises:
        UnreadableSource: the file cannot be opened or decoded.
    """
    try:
        data = plain_files.read(path)
    except OSError as error:
        raise UnreadableSource(f"it cannot be read: {error.strerror or error}") from error
    return decode(str(path), data)


# --- lines of code

_STRING_STARTS = {getattr(tokenize, name, None) for name in ("FSTRING_START", "TSTRING_START")} - {None}
_STRING_ENDS = {getattr(tokenize, name, None) for name in ("FSTRING_END", "TSTRING_END")} - {None}
"""Python 3.12 and later tokenize f-strings, and see the row ends in them."""


@dataclass(frozen=True)
class CodeLine:
    """Rows ``first`` to ``last`` (from 1); ``comment`` is the offset of the comment at their end, if there is one.

    ``statement`` is the row where its simple statement or the header of its compound statement begins (the first of
    them, if semicolons separate several); None between statements.
    """

    first: int
    last: int
    comment: int | None
    statement: int | None


@lru_cache(maxsize=16)
def code_lines(source: Source) -> tuple[CodeLine, ...] | None:
    """The lines of a file in order; None if unknown, because the file cannot be tokenized to its end."""
    try:
        return tuple(_found(source))
    except (tokenize.TokenError, SyntaxError):
        return None


def _found(source: Source) -> Iterator[CodeLine]:
    first = strings = 0
    comment = statement = None
    for token in tokens(source):
        if token.type in (tokenize.ENDMARKER, tokenize.DEDENT):
            continue
        first = first or token.start[0]
        if statement is None and token.type not in (tokenize.COMMENT, tokenize.NL):
            statement = token.start[0]
        strings += (token.type in _STRING_STARTS) - (token.type in _STRING_ENDS)
        if strings:
            continue
        if token.type == tokenize.COMMENT:
            comment = source.lines.line_start(token.start[0]) + token.start[1]
        elif token.type in (tokenize.NL, tokenize.NEWLINE):
            yield CodeLine(first, token.end[0], comment, statement)
            first, comment = 0, None
            if token.type == tokenize.NEWLINE:
                statement = None


def tokens(source: Source) -> Iterator[tokenize.TokenInfo]:
    """The tokens, with the rows of ``source.lines`` (which, unlike a text file, also end at a lone ``\\r``).

    Raises:
        tokenize.TokenError, SyntaxError: the text cannot be tokenized from here on.
    """
    lines = source.lines
    return tokenize.generate_tokens(iter([lines.line(row) + "\n" for row in range(1, lines.rows + 1)]).__next__)
