"""What can be found out about a file from its text alone, without parsing it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from perflint.syntax.vocabulary import is_offline, is_test_code
from perflint.text.source import Source

# Finds by text, without parsing, whether a name occurs, is called, or is the base of a class.

_WORDS = bytes(code if code > 127 or chr(code).isalnum() or chr(code) == "_" else 32 for code in range(256))
"""A table that turns everything that is not part of an identifier into a space."""
_WORDS_AND_CALLS = _WORDS[:40] + b"(" + _WORDS[41:]
_DOT = re.compile(r"\.[\s\\]+\Z")
_WORD = re.compile(r"\w+")
_CLASS = re.compile(r"class\s+\w+\s*\(([^:]*)")


@dataclass(frozen=True)
class Uses:
    """The words of a text by their context.

    ``called``: before a ``(`` that does not belong to a definition. ``others``: anywhere else. ``bases``: in a class
    header.
    """

    called: frozenset[str]
    others: frozenset[str]
    bases: frozenset[str]


def places(text: str, name: str) -> Iterator[int]:
    """The character offsets of a name as a whole word in a text; none for an empty name."""
    at = text.find(name) if name else -1  # compiling a pattern for each name would take longer than searching
    while at >= 0:
        end = at + len(name)
        if not (_is_part(text, at - 1) or _is_part(text, end)):
            yield at
        at = text.find(name, end)


def _is_part(text: str, at: int) -> bool:
    """Whether the character at an offset can be part of a name; False before and after the text."""
    return 0 <= at < len(text) and (text[at].isalnum() or text[at] == "_")


def words(text: str) -> frozenset[str]:
    """The words of a text: runs of characters of identifiers, normalized like Python's identifiers."""
    return frozenset(_plain(folded(text), _WORDS).split())


def uses(text: str) -> Uses:
    """The words of a text by their context."""
    text = folded(text)
    tokens = _plain(text, _WORDS_AND_CALLS).replace("(", "( ").split()  # called words keep their "("
    called = {
        word[:-1]
        for before, word in zip(["", *tokens], tokens, strict=False)
        if word[-1] == "(" and word != "(" and before != "def"
    }
    called |= {word for word, after in pairwise(tokens) if after == "("}  # could be: ``x = (1, 2)``
    others = {word for word in tokens if word[-1] != "("}
    bases = (_WORD.findall(header) for header in _CLASS.findall(text))
    return Uses(frozenset(called), frozenset(others), frozenset(name for names in bases for name in names))


def _plain(text: str, table: bytes) -> str:
    """The text with every character replaced that a table of bytes maps to a space."""
    return text.encode("utf-8", "replace").translate(table).decode()


def folded(text: str) -> str:
    """The text normalized as Python does for identifiers."""
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


# One file of the project as text: what can be found out without parsing it, and from its path.

_STATIC = re.compile(r"enable_static\(|program_guard\(|static\.Executor\(|fluid\.Executor\(")
_STATIC_WORDS = frozenset({"enable_static", "program_guard", "Executor"})


_ENDS = re.compile(r"\s*(?:[)#;\\]|$)", re.MULTILINE)
_AS = re.compile(r"\s+as\s+(\w+)")
_STAR = re.compile(r"import[\s\\(]*\*")


@dataclass(eq=False)
class FileText:
    """A file that has not been parsed.

    ``parts``: the parts of its module name, relative to the root of the project; the last one is ``__init__`` for a
    package.
    """

    source: Source
    parts: tuple[str, ...]

    @property
    def path(self) -> str:
        """The path of the file."""
        return self.source.path

    @property
    def is_package(self) -> bool:
        """Whether this is the ``__init__.py`` of a package."""
        return self.parts[-1] == "__init__"

    @cached_property
    def module(self) -> str:
        """The dotted name of the module."""
        return ".".join(self.parts[:-1] if self.is_package else self.parts)

    @cached_property
    def words(self) -> frozenset[str]:
        """Every word of the text, also in comments and strings: a name that is not among them is not in the file."""
        return words(self.source.text)

    @cached_property
    def _uses(self) -> Uses:
        return uses(self.source.text)

    def may_call(self, name: str) -> bool:
        """Whether something with this name is called, judging by the text."""
        return name in self._uses.called

    def may_hold(self, name: str) -> bool:
        """Whether this name is used in the text without being called."""
        return name in self._uses.others

    def may_derive(self, name: str) -> bool:
        """Whether a class has a base with this name, judging by the text."""
        return name in self._uses.bases

    def may_be_member(self, name: str) -> bool:
        """Whether a name follows a dot somewhere."""
        text = self.source.text
        return any(text[at - 1 : at] == "." or _DOT.search(text, max(at - 99, 0), at) for at in places(text, name))

    def may_assign(self, name: str) -> bool:
        """Whether something may be assigned from this name: it ends a statement with a ``=``."""
        text = self.source.rows_text
        return any(_ENDS.match(text, at + len(name)) and _follows_equals(text, at) for at in places(text, name))

    def renamings(self, name: str) -> list[str]:
        """The other names that imports may give it: ``import name as other``."""
        text = self.source.text
        after = (_AS.match(text, at + len(name)) for at in places(text, name)) if self.has_words("as") else ()
        return [match[1] for match in after if match is not None]

    def has_words(self, *names: str) -> bool:
        """Whether the text contains one of these words."""
        return not self.words.isdisjoint(names)

    def has(self, piece: str) -> bool:
        """Whether the file contains a piece of text, even in a comment."""
        return piece in self.source.text

    def matches(self, pattern: re.Pattern[str]) -> bool:
        """Whether a pattern matches somewhere in the text."""
        return pattern.search(self.source.rows_text) is not None

    @cached_property
    def may_have_stars(self) -> bool:
        """Whether the text may contain a ``from x import *``."""
        return bool(_STAR.search(self.source.text))

    @cached_property
    def is_quiet(self) -> bool:
        """Test code: nothing is reported there."""
        return any(map(is_test_code, self.parts))

    @cached_property
    def scales(self) -> bool:
        """Whether the text mentions a gradient scaler."""
        return "scaler" in self.source.text.lower()

    @cached_property
    def is_static(self) -> bool:
        """Whether the file builds static graphs."""
        return self.has_words(*_STATIC_WORDS) and bool(_STATIC.search(self.source.text))

    @cached_property
    def is_offline(self) -> bool:
        """Code that only predicts, exports or serves: its speed is not the ips of a training run."""
        return any(map(is_offline, self.parts)) and ".backward(" not in self.source.text


def _follows_equals(text: str, at: int) -> bool:
    """Whether a ``=`` precedes a place in its row, or the row continues the previous one."""
    row = text.rfind("\n", 0, at) + 1
    return "=" in text[row:at] or text[:row].rstrip()[-1:] in tuple("=(,\\")


def module_parts(parts: tuple[str, ...]) -> tuple[str, ...]:
    """The parts of a file's module name, from the parts of its path relative to the root of the project."""
    last = parts[-1].rpartition(".")[0].lstrip(".") and parts[-1].rpartition(".")[0]
    return tuple(part.replace(".", "_") for part in (*parts[:-1], last or parts[-1]))


# Finds functions and their calls by text alone; a function may get too much text, never too little.

_DEFINITION = re.compile(r"def[\s\\]+(\w+)")
_QUOTES = ('"""', "'''")


@dataclass(frozen=True)
class _Function:
    """Where a function begins: its name, its indentation, and the end of its name."""

    name: str
    depth: int
    row: int
    start: int


def function_texts(text: str) -> Iterator[tuple[str, str]]:
    """The name of each function of a file, and the text after its name, including nested functions."""
    functions = [function for match in _DEFINITION.finditer(text) if (function := _function(match)) is not None]
    for number, function in enumerate(functions):
        yield function.name, text[function.start : _end(text, function, functions[number + 1 :])]


def _function(match: re.Match[str]) -> _Function | None:
    """The function that a ``def`` begins; None for one in a comment or in a string."""
    text, start = match.string, match.start()
    row = text.rfind("\n", 0, start) + 1
    before = text[row:start].rpartition("\f")[2]  # where Python restarts counting the indentation
    if before.strip() not in ("", "async"):
        return None
    return _Function(match[1], len(before.expandtabs()) - len(before.lstrip()), row, match.end())


def _end(text: str, function: _Function, later: list[_Function]) -> int:
    """Where a function ends: before the next one that is not nested, nor inside a string."""
    for other in later:
        if other.depth <= function.depth and not any(
            text.count(quotes, function.start, other.row) % 2 for quotes in _QUOTES
        ):
            return other.row
    return len(text)
