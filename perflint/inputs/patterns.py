"""Gitignore patterns, matched against one directory entry at a time.

Git asks about a directory before it enters it, and about an entry by the entry's own path. A list may have hundreds of
thousands of lines, so it is not searched completely for each path: patterns are indexed by the longest piece of text
that a matching name must contain, and only those found this way are compared.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from perflint.files.inside import absolute
from perflint.inputs import globs
from perflint.inputs.globs import Glob, Where


class _Rule(NamedTuple):
    """A pattern, and the number of its line from the end of the list: a lower one overrides a higher one."""

    number: int
    glob: Glob


class _Index:
    """Rules by a piece of text at some place, in tables for each length of such pieces."""

    def __init__(self, where: Where) -> None:
        self._where = where
        self._tables: dict[int, dict[bytes, list[_Rule]]] = {}

    def add(self, piece: bytes, rule: _Rule) -> None:
        self._tables.setdefault(len(piece), defaultdict(list))[piece].append(rule)

    def look_up(self, path: bytes, name: bytes) -> Iterator[_Rule]:
        """The rules whose piece is at that place in a path whose last part is ``name``."""
        for length, table in self._tables.items():
            if self._where is Where.END:
                yield from table.get(name[-length:], ())
            elif self._where is Where.START:
                yield from table.get(name[:length], ())
            else:
                text = name if self._where is Where.NAME else path
                for piece in {text[at : at + length] for at in range(len(text) - length + 1)}:
                    yield from table.get(piece, ())


class Patterns:
    """The lines of one ``.gitignore`` or one list of the configuration.

    Lines that are not patterns (blank, comment, or one that never matches in git) are ignored.
    """

    def __init__(self, lines: Iterable[str]) -> None:
        """Parse ``lines``, of which a later one overrides an earlier one."""
        self._lines = list(dict.fromkeys(reversed(list(lines))))
        self._names: dict[bytes, list[_Rule]] = defaultdict(list)
        self._paths: dict[bytes, list[_Rule]] = defaultdict(list)
        self._by_piece = {where: _Index(where) for where in (Where.END, Where.START, Where.NAME, Where.PATH)}
        self._others: list[_Rule] = []
        self._count = 0
        for number, line in enumerate(self._lines):
            glob = globs.parse(_bytes(line))
            if glob is not None:
                self._count += 1
                self._add(_Rule(number, glob))

    def __bool__(self) -> bool:
        """Whether there is any pattern."""
        return self._count > 0

    def verdict(self, path: str) -> bool | None:
        """Whether these patterns ignore (True) or re-include (False) this entry itself; None: they do not match it.

        ``path`` is relative to the directory the patterns belong to, has ``/`` between its parts and ends in ``/``
        for a directory.
        """
        rule = min(self._speaking_of(path), default=None, key=lambda rule: rule.number)
        return None if rule is None else rule.glob.ignores

    def covers(self, path: str) -> bool:
        """Whether these patterns ignore ``path`` or a directory above it."""
        return any(self.verdict(part) for part in _with_parents(path))

    def each_covering(self, path: str) -> set[str]:
        """The lines each of which alone ignores ``path`` or a directory above it."""
        rules = [rule for part in _with_parents(path) for rule in self._speaking_of(part)]
        return {self._lines[rule.number] for rule in rules if rule.glob.ignores}

    def _add(self, rule: _Rule) -> None:
        glob = rule.glob
        literal = glob.literal
        if literal is not None:
            (self._names if glob.by_name else self._paths)[literal].append(rule)
            return
        # Among pieces of equal length, the ends of names are looked up fastest, and pieces anywhere in a path slowest.
        piece, where = max(glob.pieces(), key=_usefulness, default=(b"", Where.PATH))
        if piece:
            self._by_piece[where].add(piece, rule)
        else:
            self._others.append(rule)

    def _speaking_of(self, path: str) -> Iterator[_Rule]:
        """The patterns that match an entry, in no particular order."""
        is_directory = path.endswith("/")
        whole = _bytes(path[:-1] if is_directory else path)
        for rule in self._candidates(whole):
            if is_directory >= rule.glob.directories_only and rule.glob.fits(whole):
                yield rule

    def _candidates(self, path: bytes) -> Iterator[_Rule]:
        """The patterns that can match an entry: for most entries, only a few."""
        name = path.rpartition(b"/")[2]
        yield from self._names.get(name, ())
        yield from self._paths.get(path, ())
        for index in self._by_piece.values():
            yield from index.look_up(path, name)
        yield from self._others


def _usefulness(place: tuple[bytes, Where]) -> tuple[int, int]:
    piece, where = place
    return len(piece), where.value


def is_valid(line: str) -> bool:
    """Whether a line can be read as a gitignore pattern (comments and blank lines can)."""
    if not line.strip(" ") or line.startswith("#"):
        return True
    return "\0" not in line and globs.parse(_bytes(line)) is not None


def relative(path: str, root: str) -> str:
    """``path`` relative to ``root``, for its patterns, with ``/`` between its parts ("" for ``root`` itself).

    A path that is not below ``root`` keeps all its parts, so that patterns without a slash still find its name.
    """
    for whole in (absolute, os.path.realpath):
        place, base = whole(path), whole(root)
        if place == base:
            return ""
        base = base.rstrip(os.sep) + os.sep
        if place.startswith(base):
            return _slashed(place[len(base) :])
    return _slashed(os.path.splitdrive(absolute(path))[1]).lstrip("/")


def _with_parents(path: str) -> list[str]:
    return [path[: slash.end()] for slash in re.finditer("/", path)] + ([] if path.endswith("/") else [path])


def _bytes(text: str) -> bytes:
    """A pattern or a path in bytes, as in git, even if they are not UTF-8."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # a lone surrogate, as in a file name on Windows
        return text.encode("utf-8", "surrogatepass")


def _slashed(path: str) -> str:
    return path if os.sep == "/" else path.replace(os.sep, "/")
