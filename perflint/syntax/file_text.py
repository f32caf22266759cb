"""One file of the project as text: what can be found out without parsing it, and from its path."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from perflint.syntax.vocabulary import is_offline, is_test_code
from perflint.syntax.words import Uses, folded, is_called, is_derived, is_held, is_member, places, uses, words
from perflint.text.source import Source

_STATIC = re.compile(r"enable_static\(|program_guard\(|static\.Executor\(|fluid\.Executor\(")
_STATIC_WORDS = frozenset({"enable_static", "program_guard", "Executor"})


_ENDS = re.compile(r"\s*(?:[)#;\\]|$)", re.MULTILINE)
_AS = re.compile(r"\s+as\s+(\w+)")
_STAR = re.compile(r"import[\s\\(]*\*")
_MOST_LOOKS = 64
"""How many names are searched for in a text one by one; for more, it is read once for all of them."""


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
    def _folded(self) -> str:
        return folded(self.source.text)

    @cached_property
    def _known(self) -> dict[tuple[str, str], bool]:
        return {}

    def _told(self, how: str, name: str, answer: Callable[[str, str], bool]) -> bool:
        """What the text says about a name, cached: each function of that name asks all files."""
        key = how, name
        if key not in self._known:
            told = answer(self._folded, name) if len(self._known) < _MOST_LOOKS else name in getattr(self._uses, how)
            self._known[key] = told
        return self._known[key]

    @cached_property
    def _uses(self) -> Uses:
        return uses(self.source.text)

    def may_call(self, name: str) -> bool:
        """Whether something with this name is called, judging by the text."""
        return self._told("called", name, is_called)

    def may_hold(self, name: str) -> bool:
        """Whether this name is used in the text without being called."""
        return self._told("others", name, is_held)

    def may_derive(self, name: str) -> bool:
        """Whether a class has a base with this name, judging by the text."""
        return self._told("bases", name, is_derived)

    def may_be_member(self, name: str) -> bool:
        """Whether a name follows a dot somewhere."""
        return is_member(self.source.text, name)

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
