"""Gitignore patterns, asked about one directory entry at a time.

pathspec translates each pattern; what is added here is git's order of questions.  Git asks about a directory before
it enters it, and about an entry by the entry's own path.  pathspec's whole-path matching also says yes to everything
below a matching directory, which goes wrong when a person names an ignored directory outright, or when a nested
``.gitignore`` takes a directory back and its parent's patterns still hold for the files inside.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from pathspec import GitIgnoreSpec

_BELOW = "ps_d"  # the group in which pathspec's expressions keep the slash after a matching directory
_WILD = frozenset("*?[]\\")


class _Rule(NamedTuple):
    regex: re.Pattern[str]
    ignore: bool
    directories_only: bool
    last: str | None  # the character every matching name ends in; None: any


class Patterns:
    """The lines of one ``.gitignore`` or one list of the configuration, compiled.

    Lines that are no pattern (blank, comment, or one that git discards) are passed over.
    """

    def __init__(self, lines: Iterable[str]) -> None:
        """Compile ``lines``, of which a later one outweighs an earlier."""
        self._rules = [rule for line in lines for rule in _compile(line)][::-1]
        self._candidates: dict[tuple[bool, str], list[_Rule]] = {}

    def __bool__(self) -> bool:
        """Whether there is any pattern."""
        return bool(self._rules)

    def verdict(self, path: str) -> bool | None:
        """Whether these patterns ignore (True) or take back (False) this very entry; None: they do not speak of it.

        ``path`` is relative to the directory the patterns belong to, has ``/`` between its parts and ends in ``/``
        for a directory.
        """
        for rule in self._speaking_of(path):
            if _names_entry(rule.regex, path):
                return rule.ignore
        return None

    def covers(self, path: str) -> bool:
        """Whether these patterns ignore ``path`` or a directory above it."""
        return any(self.verdict(part) for part in _with_parents(path))

    def _speaking_of(self, path: str) -> list[_Rule]:
        """The patterns that can match a path by its last character: few of them, for most paths."""
        directory = path.endswith("/")
        last = path[-2:-1] if directory else path[-1:]
        found = self._candidates.get((directory, last))
        if found is None:
            found = [rule for rule in self._rules if rule.last in (None, last) and directory >= rule.directories_only]
            self._candidates[directory, last] = found
        return found


def is_valid(line: str) -> bool:
    """Whether a line can be read as a gitignore pattern (comments and blank lines can)."""
    try:
        GitIgnoreSpec.from_lines([line])
    except ValueError:
        return False
    return True


def relative(path: str, root: str) -> str:
    """``path`` as patterns below ``root`` see it: relative, with ``/`` between its parts ("" for ``root`` itself).

    A path that is not below ``root`` keeps all its parts, so that patterns without a slash still find its name.
    """
    for absolute in (_absolute, os.path.realpath):
        place, base = absolute(path), absolute(root)
        if place == base:
            return ""
        base = base.rstrip(os.sep) + os.sep
        if place.startswith(base):
            return _slashed(place[len(base) :])
    return _slashed(os.path.splitdrive(_absolute(path))[1]).lstrip("/")


def _absolute(path: str) -> str:
    return os.path.normpath(Path(path).absolute())


def _compile(line: str) -> list[_Rule]:
    if not is_valid(line):
        return []
    body = line.rstrip()
    if body.endswith(("/**", "/**/")):
        # All below a directory; pathspec would count the directory in, and break `a/**`, `!a/**/`, `!a/**/b.py`.
        line = body = f"{body}*/" if body.endswith("/") else f"{body}/*"
    last = body.rstrip("/")[-1:]
    return [
        _Rule(pattern.regex, pattern.include, body.endswith("/"), None if last in _WILD else last)
        for pattern in GitIgnoreSpec.from_lines([line]).patterns
        if pattern.regex is not None and pattern.include is not None
    ]


def _names_entry(regex: re.Pattern[str], path: str) -> bool:
    """Whether a pattern matches the entry itself, not only a directory above it."""
    for match in regex.finditer(path):
        if match.groupdict().get(_BELOW) is None or match.end(_BELOW) == len(path):
            return True
    return False


def _with_parents(path: str) -> list[str]:
    return [path[: slash.end()] for slash in re.finditer("/", path)] + ([] if path.endswith("/") else [path])


def _slashed(path: str) -> str:
    return path if os.sep == "/" else path.replace(os.sep, "/")
