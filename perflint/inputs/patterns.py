"""Gitignore patterns, matched against one directory entry at a time, never in exponential time.

Git asks about a directory before it enters it, and about an entry by the entry's own path. A list may have hundreds of
thousands of lines, so it is not searched completely for each path: patterns are indexed by the longest piece of text
that a matching name must contain, and only those found this way are compared.

A pattern becomes a regular expression. Git compares bytes: ``?`` and ``[...]`` match one byte, and ``*`` any bytes
except for a slash. A pattern is split at its slashes, and each part at its stars. A chunk between two stars has a fixed
length, so the first place where it matches is always good enough; the same holds for the parts between two ``**``. So
the expression takes the first match and never tries another one (`_first`). A plain translation of ``*a*a*a*ab`` would
try all ways to split ``aaa...``.

pathspec, which most Python tools use, is such a plain translation, and differs from git in details: for git ``[z-a]``
matches nothing, ``[[:alpha:]]`` means letters, and a line with an unclosed bracket is ignored.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import NamedTuple

from perflint.files.plain_files import absolute
from perflint.query import gathered

# --- one pattern

_SLASH, _STAR, _DEEP, _DEEPER = "/", "*", "**/", "**"
"""Tokens besides bytes: ``_DEEP`` matches any number of directories, ``_DEEPER`` at least one more name."""

_SIMPLE = re.compile(rb"[^*?\[\\/]+|/|\*+")
"""A byte or a set of bytes, one slash, or stars."""

_STAR_BYTE, _QUESTION_MARK, _OPENING = b"*?["
_ANY = frozenset(range(256))
_SLASHES = frozenset(b"/")
_UPPER, _LOWER = frozenset(range(65, 91)), frozenset(range(97, 123))
_DIGIT, _GRAPH = frozenset(range(48, 58)), frozenset(range(33, 127))
_ALNUM = _UPPER | _LOWER | _DIGIT
_CLASSES = {
    b"alnum": _ALNUM,
    b"alpha": _UPPER | _LOWER,
    b"blank": frozenset(b" \t"),
    b"cntrl": frozenset(range(32)) | {127},
    b"digit": _DIGIT,
    b"graph": _GRAPH,
    b"lower": _LOWER,
    b"print": _GRAPH | {32},
    b"punct": _GRAPH - _ALNUM,
    b"space": frozenset(b" \t\n\r\v\f"),
    b"upper": _UPPER,
    b"xdigit": _DIGIT | frozenset(b"abcdefABCDEF"),
}

Unit = bytes | frozenset[int]
"""A fixed sequence of bytes, or one byte out of a set."""
Token = Unit | str
Chunk = tuple[Unit, ...]
"""What is between two stars; adjacent bytes are one unit."""
Part = tuple[Chunk, ...]
"""The pattern of one name in a path: chunks with a star between each two."""


class _Malformed(Exception):
    """A pattern that never matches in git: an unclosed bracket, or a backslash at the end."""


@dataclass(eq=False)
class Glob:
    """A pattern: whether it ignores or re-includes entries, of which kind, and how their paths look.

    ``runs`` are parts that match consecutive names. A path begins with the first run, which may be empty, and ends with
    the last one; any number of directories may be between two runs. ``by_name``: the pattern is one part, for the name
    of an entry in any directory.
    """

    ignores: bool
    directories_only: bool
    by_name: bool
    runs: Sequence[Sequence[Part]]

    @property
    def literal(self) -> bytes | None:
        """The one path that it names, or the one name in any directory; None if it is not just one."""
        names = [part[0][0] for part in self.runs[0] if len(part) == 1 and len(part[0]) == 1]
        plain = [name for name in names if isinstance(name, bytes)]
        return b"/".join(plain) if len(self.runs) == 1 and len(plain) == len(self.runs[0]) else None

    @property
    def piece(self) -> bytes:
        """The longest piece of text that every matching path contains, or every name of an entry if ``by_name``."""
        units = (unit for run in self.runs for part in run for chunk in part for unit in chunk)
        return max((unit for unit in units if isinstance(unit, bytes)), default=b"", key=len)

    def fits(self, path: bytes) -> bool:
        """Whether the pattern matches a path, without regard to whether that is a directory."""
        return self._regex.fullmatch(path.rpartition(b"/")[2] if self.by_name else path) is not None

    @cached_property
    def _regex(self) -> re.Pattern[bytes]:
        groups = count()
        first, *others = (b"/".join(_part_regex(part, groups) for part in run) for run in self.runs)
        found = first + b"/" if first and others else first
        for run in others[:-1]:
            found += _first(_DIRECTORIES + b"?" + run + b"/", groups)
        return re.compile(found + (_DIRECTORIES + others[-1] if others else b""), re.DOTALL)


_DIRECTORIES = b"(?:[^/]*/)*"


def _first(regex: bytes, groups: Iterator[int]) -> bytes:
    """An expression whose first match is final: no other is tried (an atomic group, which Python has since 3.11)."""
    return b"(?=(?P<at%d>%b))(?P=at%d)" % ((number := next(groups)), regex, number)


def _part_regex(part: Part, groups: Iterator[int]) -> bytes:
    first, *others = (b"".join(map(_unit_regex, chunk)) for chunk in part)
    inner = b"".join(_first(b"[^/]*?" + chunk, groups) for chunk in others[:-1])
    return first + inner + (b"[^/]*" + others[-1] if others else b"")


def _unit_regex(unit: Unit) -> bytes:
    if isinstance(unit, bytes):
        return re.escape(unit)
    if unit >= _ANY - _SLASHES:
        return b"[^/]"
    return b"[" + b"".join(b"\\x%02x" % byte for byte in sorted(unit)) + b"]"


def parse(line: bytes) -> Glob | None:
    """Parse a line without its line end; None for a comment, a blank line, or a pattern that never matches."""
    if line.startswith(b"#"):
        return None
    body = _without_trailing_spaces(line.partition(b"\0")[0])
    ignores = not body.startswith(b"!")
    body = body[not ignores :]
    directories_only = body.endswith(b"/")
    body = body[: len(body) - directories_only]
    by_name = b"/" not in body
    try:
        tokens = [token for token, _, _ in _scan(body)] if by_name else _tokens(body.removeprefix(b"/"))
    except _Malformed:
        return None
    runs = [[_part(tokens)]] if by_name else _runs(tokens)
    can_fit = all(_can_fit(part) for run in runs for part in run)
    return Glob(ignores, directories_only, by_name, runs) if can_fit else None


def _can_fit(part: Part) -> bool:
    """Whether any name can match: it has at least one byte, and no set of bytes is empty."""
    return part != ((),) and all(unit for chunk in part for unit in chunk)


def _without_trailing_spaces(line: bytes) -> bytes:
    """The line without trailing spaces, except for one after a backslash."""
    end = len(line.rstrip(b" "))
    backslashes = end - len(line[:end].rstrip(b"\\"))
    return line[: end + 1] if backslashes % 2 else line[:end]


def _part(tokens: Sequence[Token]) -> Part:
    chunks: list[list[Unit]] = [[]]
    for token in tokens:
        units = chunks[-1]
        if isinstance(token, str):
            chunks.append([])
        elif isinstance(token, bytes) and units and isinstance(units[-1], bytes):
            units[-1] += token
        else:
            units.append(token)
    return tuple(map(tuple, chunks))


def _runs(tokens: Sequence[Token]) -> list[list[Part]]:
    """The names of a pattern, split where any number of directories may be."""
    runs: list[list[Part]] = [[]]
    name: list[Token] = []
    deep = False
    for token in [*tokens, _SLASH]:
        if token in (_DEEP, _DEEPER):
            if runs[-1] or len(runs) == 1:
                runs.append([])
            if token == _DEEPER:
                runs[-1].append(_part([_STAR]))
            deep = True
        elif token != _SLASH:
            name.append(token)
        elif deep:
            deep = False
        else:
            runs[-1].append(_part(name))
            name = []
    return runs


def _tokens(body: bytes) -> list[Token]:
    """The tokens of a pattern with slashes, in which no star matches a slash."""
    found: list[Token] = []
    for token, start, end in _scan(body):
        if token == _STAR and end - start > 1 and body[start - 1 : start] in (b"", b"/"):
            behind = body[end : end + 2]
            if behind[:1] == b"/":
                found.append(_DEEP)
                continue
            if behind in (b"", b"\\/"):
                found.append(_DEEPER)
                continue
        # No name contains a slash, so a bracket or question mark cannot match one.
        found.append(token - _SLASHES if isinstance(token, frozenset) else _SLASH if token == b"/" else token)
    return found


def _scan(body: bytes) -> list[tuple[Token, int, int]]:
    """The names, choices, slashes and stars of a pattern, each with its place; adjacent stars count as one.

    Raises:
        _Malformed: the pattern never matches in git.
    """
    found: list[tuple[Token, int, int]] = []
    at = 0
    while at < len(body):
        match = _SIMPLE.match(body, at)
        token: Token
        if match is not None:
            token, end = _STAR if body[at] == _STAR_BYTE else match[0], match.end()
        elif body[at] == _QUESTION_MARK:
            token, end = _ANY, at + 1
        elif body[at] == _OPENING:
            token, end = _bracket(body, at + 1)
        else:  # a backslash
            token, end = body[at + 1 : at + 2], at + 2
            if not token:
                raise _Malformed
        found.append((token, at, end))
        at = end
    return found


def _bracket(body: bytes, at: int) -> tuple[frozenset[int], int]:
    """The bytes that a bracket matches, and the offset after its end; ``at`` is after the opening bracket.

    Raises:
        _Malformed: nothing closes it, or it names an unknown class.
    """
    negated = body[at : at + 1] in (b"!", b"^")
    at += negated
    chosen: set[int] = set()
    before = 0  # the possible start of a range; 0: none
    end = -1  # for a class: where the next closing bracket is
    is_first = True
    while is_first or body[at : at + 1] != b"]":
        is_first = False
        if body[at : at + 2] == b"[:" and end < at + 2:
            end = body.find(b"]", at + 2)
            if end < 0:
                raise _Malformed
        if body[at : at + 2] == b"[:" and end - at >= 3 and body[end - 1 : end] == b":":  # [[:alpha:]], but not [[:x]
            name = body[at + 2 : end - 1]
            if name not in _CLASSES:
                raise _Malformed
            chosen |= _CLASSES[name]
            at, before = end + 1, 0
        elif body[at : at + 1] == b"-" and before and body[at + 1 : at + 2] not in (b"", b"]"):
            last, at = _byte(body, at + 1)
            chosen.update(range(before, last + 1))
            before = 0
        else:
            before, at = _byte(body, at)
            chosen.add(before)
    return (_ANY - chosen if negated else frozenset(chosen)), at + 1


def _byte(body: bytes, at: int) -> tuple[int, int]:
    """A byte in a bracket, which may be escaped by a backslash, and the offset after it."""
    at += body[at : at + 1] == b"\\"
    if at >= len(body):
        raise _Malformed
    return body[at], at + 1


class _Rule(NamedTuple):
    """A pattern, and the number of its line from the end of the list: a lower one overrides a higher one."""

    number: int
    glob: Glob


class Patterns:
    """The lines of one ``.gitignore`` or one list of the configuration.

    Lines that are not patterns (blank, comment, or one that never matches in git) are ignored.
    """

    def __init__(self, lines: Iterable[str]) -> None:
        """Parse ``lines``, of which a later one overrides an earlier one."""
        self._lines = list(dict.fromkeys(reversed(list(lines))))
        parsed = ((number, parse(_bytes(line))) for number, line in enumerate(self._lines))
        rules = [_Rule(number, glob) for number, glob in parsed if glob is not None]
        self._whole = gathered(((each.glob.by_name, each.glob.literal), each) for each in rules)
        pieces = gathered(((each.glob.by_name, each.glob.piece), each) for each in rules if each.glob.literal is None)
        self._by_piece: dict[tuple[bool, int], dict[bytes, list[_Rule]]] = defaultdict(dict)
        for (by_name, piece), some in pieces.items():
            self._by_piece[by_name, len(piece)][piece] = some

    def __bool__(self) -> bool:
        """Whether there is any pattern."""
        return bool(self._whole)

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

    def _speaking_of(self, path: str) -> Iterator[_Rule]:
        """The patterns that match an entry, in no particular order."""
        is_directory = path.endswith("/")
        whole = _bytes(path[:-1] if is_directory else path)
        for rule in self._candidates(whole):
            if is_directory >= rule.glob.directories_only and rule.glob.fits(whole):
                yield rule

    def _candidates(self, path: bytes) -> Iterator[_Rule]:
        """The patterns that can match an entry: for most entries, only a few."""
        texts = {True: path.rpartition(b"/")[2], False: path}
        for key in texts.items():
            yield from self._whole.get(key, ())
        for (by_name, length), table in self._by_piece.items():
            text = texts[by_name]
            starts = range(len(text) - length + 1)
            inside = {text[at : at + length] for at in starts} if len(starts) < len(table) else table
            yield from (rule for piece in inside if piece in text for rule in table.get(piece, ()))


def is_valid(line: str) -> bool:
    """Whether a line can be read as a gitignore pattern (comments and blank lines can)."""
    if not line.strip(" ") or line.startswith("#"):
        return True
    return "\0" not in line and parse(_bytes(line)) is not None


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
