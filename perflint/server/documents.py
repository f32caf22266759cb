"""What an editor shows: open documents with their texts, and the ``View`` of them that is passed to the checks."""

from __future__ import annotations

import io
import tokenize
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import accumulate
from pathlib import Path

from perflint.findings import Finding
from perflint.run import discovery
from perflint.server.client import EditorSettings
from perflint.text.source import BOM, LineTable, Source

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
        table = self._table
        if row >= table.rows:
            at = len(table.text)
        else:
            line = table.line(row + 1)
            at = table.line_start(row + 1) + self._characters(line, column)
        return max(at - self._shift, 0)

    def line(self, row: int) -> str:
        """The text of a row without its line end; empty past the last one."""
        return self._table.line(row + 1).removeprefix(BOM) if row < self._table.rows else ""

    def _characters(self, line: str, column: int) -> int:
        """How many characters of a row are before a column; one inside a character counts as its start."""
        if self._encoding == "utf-32" or line.isascii():
            return min(column, len(line))
        return bisect_right([*accumulate(map(self._units, line))], column)

    def _units(self, text: str) -> int:
        if self._encoding == "utf-32" or text.isascii():
            return len(text)
        if self._encoding == "utf-8":
            return len(text.encode("utf-8", "surrogatepass"))
        return len(text.encode("utf-16-le", "surrogatepass")) // 2


@dataclass(frozen=True, eq=False)
class Document:
    """One version of an open document.

    ``uri`` is spelled as the editor spells it; ``path`` is its path on disk, or its URI if it has none. ``encoding`` is
    the unit in which columns are counted: ``utf-8``, ``utf-16`` or ``utf-32``.
    """

    uri: str
    path: str
    text: str
    version: int
    encoding: str = "utf-16"
    language: str = "python"

    @property
    def is_checked(self) -> bool:
        """Whether it is Python, by its language or name, and a file or an unsaved one; not a notebook cell."""
        is_python = self.language == "python" or self.path.endswith(".py")
        return is_python and (self.is_file or self.uri.startswith("untitled:"))

    @property
    def is_file(self) -> bool:
        """Whether it is, or can be saved as, a file on disk."""
        return Path(self.path).is_absolute()

    @cached_property
    def positions(self) -> Positions:
        """Converts offsets into the text of a ``Source`` to rows and columns."""
        return Positions(self.text, self.encoding, len(BOM) if self.text.startswith(BOM) else 0)


@dataclass(frozen=True)
class Result:
    """The result for one version of a document."""

    document: Document
    findings: tuple[Finding, ...]


@dataclass(frozen=True)
class View:
    """What the editor shows at one moment.

    ``documents``: the open ones by URI; ``folders``: the directories of the workspace; ``settings``: those of the
    editor for each folder, and under "" those for files outside; ``looks``: how often files on disk may have changed.
    """

    documents: Mapping[str, Document] = field(default_factory=dict)
    folders: tuple[str, ...] = ()
    settings: Mapping[str, EditorSettings] = field(default_factory=dict)
    looks: int = 0

    def settings_for(self, folder: str) -> EditorSettings:
        """The editor's settings for a folder ("": for files outside of all)."""
        return self.settings.get(folder) or self.settings.get("") or EditorSettings()


@lru_cache(maxsize=32)
def source_of(path: str, text: str) -> Source | Finding:
    """A document's text as the source its file would have when saved; a finding if that would be unreadable.

    Args:
        path: the path that findings carry.
        text: the document, with its byte order mark if the editor keeps it.
    """
    bom = text.startswith(BOM)
    text = text.removeprefix(BOM)
    if "\0" in text:
        return discovery.unreadable_file(path, "it holds a null byte, as binary files do")
    try:
        data = text.encode("utf-8")  # no file can contain lone surrogates
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    except (SyntaxError, UnicodeEncodeError) as error:
        return discovery.unreadable_file(path, f"it cannot be decoded: {error}")
    return Source(path, text, encoding, bom)
