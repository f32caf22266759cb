"""One line of a ``.gitignore`` as git reads it, in a form whose matching never takes exponential time.

Git compares bytes: ``?`` and ``[...]`` stand for one byte, and ``*`` for any bytes but a slash.  A pattern is cut at
its slashes, and each part at its stars.  What is left between two stars has a fixed length, so the leftmost place
where it fits is always good enough, and nothing is ever tried twice; the same holds for the parts between two ``**``.
A translation into one regular expression would try ``*a*a*a*ab`` in all ways that ``aaa...`` can be cut.

pathspec, which most Python tools use, differs from git in what git alone knows: ``[z-a]`` matches nothing there,
``[[:alpha:]]`` means letters, and a line with an unclosed bracket is passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import Enum, auto
from typing import NamedTuple

_SLASH, _STAR, _DEEP, _DEEPER = "/", "*", "**/", "**"
"""Tokens beside bytes: ``_DEEP`` stands for any number of directories, ``_DEEPER`` for at least one more name."""

_SIMPLE = re.compile(rb"[^*?\[\\/]+|/|\*+")
"""What stands for itself, one slash, or stars."""

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
"""These bytes of a name, one after the other; or one byte that is one of these."""
Token = Unit | str


class _Malformed(Exception):
    """A pattern that git never finds anywhere: an unclosed bracket, or a backslash at the end."""


class Chunk:
    """What stands between two stars, and takes as many bytes of a name wherever it fits.

    ``units`` are what it is made of, no two of them bytes next to one another; ``width`` is how many bytes it takes.
    """

    def __init__(self, tokens: Sequence[Unit]) -> None:
        self.units: list[Unit] = []
        for token in tokens:
            if isinstance(token, bytes) and self.units and isinstance(before := self.units[-1], bytes):
                self.units[-1] = before + token
            else:
                self.units.append(token)
        self.width = sum(len(unit) if isinstance(unit, bytes) else 1 for unit in self.units)
        self._regex: re.Pattern[bytes] | None = None

    @property
    def literal(self) -> bytes | None:
        """The bytes that it stands for, where there is no choice."""
        if not self.units:
            return b""
        first = self.units[0]
        return first if len(self.units) == 1 and isinstance(first, bytes) else None

    def fits(self, name: bytes, at: int) -> bool:
        """Whether the name goes on with it at an offset, which leaves room for it."""
        literal = self.literal
        return name.startswith(literal, at) if literal is not None else self._compiled.match(name, at) is not None

    def find(self, name: bytes, start: int, end: int) -> int:
        """The first offset at which it fits between two others; -1: nowhere."""
        literal = self.literal
        if literal is not None:
            return name.find(literal, start, end)
        match = self._compiled.search(name, start, end)
        return -1 if match is None else match.start()

    @property
    def _compiled(self) -> re.Pattern[bytes]:
        if self._regex is None:
            self._regex = re.compile(b"".join(map(_as_regex, self.units)), re.DOTALL)
        return self._regex


class Where(Enum):
    """Where in a path a piece of text stands: anywhere, or in the name of the entry."""

    PATH = auto()
    NAME = auto()
    START = auto()
    END = auto()


class PatternPart(NamedTuple):
    """What one name of a path must look like: chunks with a star between each two."""

    chunks: tuple[Chunk, ...]

    @property
    def is_literal(self) -> bool:
        """Whether one name alone fits."""
        return len(self.chunks) == 1 and self.chunks[0].literal is not None

    def fits(self, name: bytes) -> bool:
        """Whether a name looks like this."""
        first, *inner = self.chunks
        if not inner:
            return len(name) == first.width and first.fits(name, 0)
        last = inner.pop()
        at, end = first.width, len(name) - last.width
        if at > end or not first.fits(name, 0) or not last.fits(name, end):
            return False
        for chunk in inner:
            found = chunk.find(name, at, end)
            if found < 0:
                return False
            at = found + chunk.width
        return True


class NameRun(NamedTuple):
    """Parts that stand for names right after one another; ``gap``: how many names must at least come before them.

    A gap of None: none may.
    """

    parts: tuple[PatternPart, ...]
    gap: int | None


class Glob(NamedTuple):
    """A pattern: what it says (``ignores`` or takes back), of which entries, and how their paths look."""

    ignores: bool
    directories_only: bool
    by_name: bool
    runs: tuple[NameRun, ...]

    @property
    def literal(self) -> bytes | None:
        """The one path that it names, or the one name in any directory; None where it may be another."""
        first = self.runs[0]
        if len(self.runs) > 1 or first.gap is not None or not all(part.is_literal for part in first.parts):
            return None
        return b"/".join(part.chunks[0].literal or b"" for part in first.parts)

    def pieces(self) -> Iterator[tuple[bytes, Where]]:
        """Pieces of text that the path of each such entry holds, and where."""
        for part in (part for run in self.runs for part in run.parts[: -1 if run is self.runs[-1] else None]):
            for chunk in part.chunks:
                yield from ((unit, Where.PATH) for unit in chunk.units if isinstance(unit, bytes))
        if not self.runs[-1].parts:
            return
        chunks = self.runs[-1].parts[-1].chunks
        for chunk in chunks:
            yield from ((unit, Where.NAME) for unit in chunk.units if isinstance(unit, bytes))
        if chunks[0].units and isinstance(first := chunks[0].units[0], bytes):
            yield first, Where.START
        if chunks[-1].units and isinstance(last := chunks[-1].units[-1], bytes):
            yield last, Where.END

    def fits(self, names: Sequence[bytes]) -> bool:
        """Whether it speaks of the entry with this path, in names; whether that is a directory is not asked."""
        if self.by_name:
            return self.runs[0].parts[0].fits(names[-1])
        at = 0
        for number, (parts, gap) in enumerate(self.runs):
            is_last = number == len(self.runs) - 1
            found = self._place(parts, names, at, gap, is_last)
            if found is None:
                return False
            at = found + len(parts)
        return at == len(names)

    @staticmethod
    def _place(
        parts: Sequence[PatternPart], names: Sequence[bytes], at: int, gap: int | None, is_last: bool
    ) -> int | None:
        """The first place from ``at`` on where the names look like these parts; at the end for the last ones."""
        latest = len(names) - len(parts)
        earliest = at + (gap or 0)
        if gap is None:
            latest = min(latest, at)
        elif is_last:
            earliest = max(earliest, latest)
        for place in range(earliest, latest + 1):
            if all(part.fits(names[place + number]) for number, part in enumerate(parts)):
                return place
        return None


def parse(line: bytes) -> Glob | None:
    """The pattern of a line without its line end; None for a comment, a blank line, and what never matches."""
    if line.startswith(b"#"):
        return None
    body = _without_trailing_spaces(line.partition(b"\0")[0])
    ignores = not body.startswith(b"!")
    body = body[not ignores :]
    directories_only = body.endswith(b"/")
    body = body[: len(body) - directories_only]
    by_name = b"/" not in body
    try:
        tokens = [*_units(body)] if by_name else [*_tokens(body.removeprefix(b"/"))]
    except _Malformed:
        return None
    runs = (NameRun((_part(tokens),), None),) if by_name else tuple(_runs(tokens))
    return Glob(ignores, directories_only, by_name, runs) if all(map(_can_fit, runs)) else None


def _can_fit(run: NameRun) -> bool:
    """Whether any names can look like this: a name has at least one byte, and a choice one that it may be."""
    for part in run.parts:
        if len(part.chunks) == 1 and not part.chunks[0].units:
            return False
        if any(not unit for chunk in part.chunks for unit in chunk.units):
            return False
    return True


def _without_trailing_spaces(line: bytes) -> bytes:
    """The line without the spaces at its end, of which one behind a backslash stays."""
    end = len(line.rstrip(b" "))
    backslashes = end - len(line[:end].rstrip(b"\\"))
    return line[: end + 1] if backslashes % 2 else line[:end]


def _part(tokens: Sequence[Token]) -> PatternPart:
    chunks: list[list[Unit]] = [[]]
    for token in tokens:
        if isinstance(token, str):
            chunks.append([])
        else:
            chunks[-1].append(token)
    return PatternPart(tuple(map(Chunk, chunks)))


def _runs(tokens: Sequence[Token]) -> list[NameRun]:
    """The names of a pattern, cut at the places that stand for any number of directories."""
    runs: list[tuple[list[PatternPart], int | None]] = [([], None)]
    name: list[Token] = []
    deep = False
    for token in [*tokens, _SLASH]:
        if token in (_DEEP, _DEEPER):
            least = int(token == _DEEPER)
            if runs[-1][0] or runs[-1][1] is None:
                runs.append(([], least))
            else:
                runs[-1] = ([], (runs[-1][1] or 0) + least)
            deep = True
        elif token != _SLASH:
            name.append(token)
        elif deep:
            deep = False
        else:
            runs[-1][0].append(_part(name))
            name = []
    return [NameRun(tuple(parts), gap) for parts, gap in runs if parts or gap is not None]


def _tokens(body: bytes) -> list[Token]:
    """The tokens of a pattern with slashes, in which no star stands for one."""
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
        # No name holds a slash, so neither does what a bracket or a question mark stands for.
        found.append(token - _SLASHES if isinstance(token, frozenset) else _SLASH if token == b"/" else token)
    return found


def _units(body: bytes) -> list[Token]:
    """The tokens of a pattern without slashes."""
    return [token for token, _, _ in _scan(body)]


def _scan(body: bytes) -> list[tuple[Token, int, int]]:
    """The names, choices, slashes and stars of a pattern, each with its place; stars next to one another are one.

    Raises:
        _Malformed: git never finds the pattern anywhere.
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
    """The bytes that a bracket stands for, and the offset behind its end; ``at`` is behind the one that opens it.

    Raises:
        _Malformed: nothing closes it, or it names a class that there is none of.
    """
    negated = body[at : at + 1] in (b"!", b"^")
    at += negated
    chosen: set[int] = set()
    before = 0  # what a range can begin with; 0: nothing
    end = -1  # of a class: where the next bracket closes
    is_first = True
    while is_first or body[at : at + 1] != b"]":
        is_first = False
        if body[at : at + 2] == b"[:" and end < at + 2:
            end = body.find(b"]", at + 2)
            if end < 0:
                raise _Malformed
        if body[at : at + 2] == b"[:" and _is_class(body, at, end):
            chosen |= _class(body[at + 2 : end - 1])
            at, before = end + 1, 0
        elif body[at : at + 1] == b"-" and before and body[at + 1 : at + 2] not in (b"", b"]"):
            last, at = _byte(body, at + 1)
            chosen.update(range(before, last + 1))
            before = 0
        else:
            before, at = _byte(body, at)
            chosen.add(before)
    return (_ANY - chosen if negated else frozenset(chosen)), at + 1


def _is_class(body: bytes, at: int, end: int) -> bool:
    """Whether what goes from ``[:`` to the next ``]`` is a class: ``[[:alpha:]]``, and not ``[[:x]``."""
    return end - at >= 3 and body[end - 1 : end] == b":"


def _class(name: bytes) -> frozenset[int]:
    if name not in _CLASSES:
        raise _Malformed
    return _CLASSES[name]


def _byte(body: bytes, at: int) -> tuple[int, int]:
    """A byte of a bracket, which may stand behind a backslash, and the offset behind it."""
    at += body[at : at + 1] == b"\\"
    if at >= len(body):
        raise _Malformed
    return body[at], at + 1


def _as_regex(unit: Unit) -> bytes:
    if isinstance(unit, bytes):
        return re.escape(unit)
    if len(unit) == 256:
        return b"."
    return b"[" + b"".join(b"\\x%02x" % byte for byte in sorted(unit)) + b"]"
