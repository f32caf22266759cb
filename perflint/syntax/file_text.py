"""One file of the project as a text: what it says without being parsed, and what its path says."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from perflint.syntax.vocabulary import is_offline, is_test_code
from perflint.syntax.words import Uses, folded, is_called, is_derived, is_held, uses, words
from perflint.text.source import Source

_STATIC = re.compile(r"enable_static\(|program_guard\(|static\.Executor\(|fluid\.Executor\(")
_STATIC_WORDS = frozenset({"enable_static", "program_guard", "Executor"})


_STAR = re.compile(r"import[\s\\(]*\*")
_MOST_LOOKS = 64
"""Names that a text is searched for one by one; where more are asked for, it is read once for all of them."""

Answer = TypeVar("Answer")


@dataclass(eq=False)
class FileText:
    """A file that nothing has parsed.

    ``parts``: its module's name in parts, as seen from the root of the project; the last one is ``__init__`` for a
    package.
    """

    source: Source
    parts: tuple[str, ...]

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
        """Every word of the text, comments and strings among them: no name that is missing here is in the file."""
        return words(self.source.text)

    @cached_property
    def _folded(self) -> str:
        return folded(self.source.text)

    @cached_property
    def _known(self) -> dict[tuple[str, str], bool]:
        return {}

    def _told(self, how: str, name: str, answer: Callable[[str, str], bool]) -> bool:
        """What the text says of a name, asked once: functions of the same name in many files ask all files again."""
        key = how, name
        if key not in self._known:
            told = answer(self._folded, name) if len(self._known) < _MOST_LOOKS else name in getattr(self._uses, how)
            self._known[key] = told
        return self._known[key]

    @cached_property
    def _uses(self) -> Uses:
        return uses(self.source.text)

    def may_call(self, name: str) -> bool:
        """Whether something by this name is called, as the text has it."""
        return self._told("called", name, is_called)

    def may_hold(self, name: str) -> bool:
        """Whether something by this name stands in the text without being called."""
        return self._told("others", name, is_held)

    def may_derive(self, name: str) -> bool:
        """Whether a class has a base of this name, as the text has it."""
        return self._told("bases", name, is_derived)

    def of_text(self, question: Hashable, answer: Callable[[str], Answer]) -> Answer:
        """What a function of the text alone says of it; ``question`` names the function and what else it is given."""
        return answer(self.source.text)

    def has(self, piece: str) -> bool:
        """Whether a piece of text stands in the file, be it in a comment."""
        return self.of_text(("has", piece), lambda text: piece in text)

    def matches(self, pattern: re.Pattern[str]) -> bool:
        """Whether a pattern matches somewhere in the text."""
        return self.of_text(("matches", pattern.pattern), lambda text: pattern.search(text) is not None)

    @cached_property
    def may_have_stars(self) -> bool:
        """Whether the text allows for a ``from x import *``."""
        return bool(_STAR.search(self.source.text))

    @cached_property
    def is_quiet(self) -> bool:
        """Test code: nothing is reported there."""
        return any(map(is_test_code, self.parts))

    @cached_property
    def scales(self) -> bool:
        """Whether the text names a scaler of gradients."""
        return "scaler" in self.source.text.lower()

    @cached_property
    def is_static(self) -> bool:
        """Whether the file builds static graphs."""
        return not self.words.isdisjoint(_STATIC_WORDS) and bool(_STATIC.search(self.source.text))

    @cached_property
    def is_offline(self) -> bool:
        """Code that only predicts, exports or serves: its speed is not the ips of a training run."""
        return any(map(is_offline, self.parts)) and ".backward(" not in self.source.text


def module_parts(parts: tuple[str, ...]) -> tuple[str, ...]:
    """A file's module name in parts, from the parts of its path as seen from the root of the project."""
    last = parts[-1].rpartition(".")[0].lstrip(".") and parts[-1].rpartition(".")[0]
    return tuple(part.replace(".", "_") for part in (*parts[:-1], last or parts[-1]))
