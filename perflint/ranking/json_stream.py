"""Reads a long list out of a JSON file entry by entry, so that a file of any size takes little memory."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from typing import Any, BinaryIO

from perflint.ranking.shares import UnusableProfile

_PIECE = 1 << 20
_MOST_BEFORE = 16 << 20
"""The most characters before the list."""
_LONGEST = 4 << 20
"""The most characters of an entry."""

_BETWEEN = re.compile(r'\}\s*,\s*(?=\{\s*["}])')
"""The end of an entry and the beginning of the next one."""
_BLANK = re.compile(r"[\s,]*")


class JsonEntries:
    """The entries of a list in a JSON object, read from a file.

    The writer may not have escaped a name, or may have been killed: an entry that is not JSON is skipped and counted in
    ``spoilt``, and if the file ends within the list, ``is_cut`` is true.

    Args:
        file: the file, at its beginning.
        key: the key of the list.
    """

    def __init__(self, file: BinaryIO, key: str) -> None:
        self.spoilt = 0
        self.is_cut = False
        self._file = file
        self._decode = codecs.getincrementaldecoder("utf-8-sig")("replace").decode
        self._parse = json.JSONDecoder(strict=False).raw_decode
        self._text = ""
        self._is_over = False
        self._start = re.compile(rf'"{re.escape(key)}"\s*:\s*\[')

    def __iter__(self) -> Iterator[Any]:
        """The entries in order.

        Raises:
            UnusableProfile: the list is missing, or an entry has no end.
            OSError: the file cannot be read.
        """
        at = self._find()
        while True:
            at = self._skip_blanks(at)
            if at >= len(self._text):
                self.is_cut = True
                return
            if self._text[at] == "]":
                return
            found, at = self._entry(at)
            if at < 0:
                return
            if found is not None:
                yield found
            if at > _PIECE:
                self._text, at = self._text[at:], 0

    def _find(self) -> int:
        while True:
            if (match := self._start.search(self._text)) is not None:
                return match.end()
            if len(self._text) > _MOST_BEFORE or not self._read_on():
                raise UnusableProfile(f"there is no {self._start.pattern.split(chr(34))[1]} in it")

    def _skip_blanks(self, at: int) -> int:
        while True:
            match = _BLANK.match(self._text, at)
            at = match.end() if match is not None else at
            if at < len(self._text) or not self._read_on():
                return at

    def _entry(self, at: int) -> tuple[Any, int]:
        """The entry at a place, and its end: None for one that is not JSON, -1 if the file ends first."""
        while True:
            try:
                return self._parse(self._text, at)
            except (ValueError, RecursionError):
                following = _BETWEEN.search(self._text, at)
            if following is not None:
                self.spoilt += 1
                return None, following.end()
            if len(self._text) - at > _LONGEST:
                raise UnusableProfile("an entry of its list has no end: it is damaged; profile again")
            if not self._read_on():
                self.is_cut = True
                return None, -1

    def _read_on(self) -> bool:
        """Read more; return whether there was any."""
        if self._is_over:
            return False
        piece = self._file.read(_PIECE)
        self._is_over = not piece
        self._text += self._decode(piece, not piece)
        return not self._is_over
