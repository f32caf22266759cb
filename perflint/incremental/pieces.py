"""A text in pieces, each with what was asked of it: after an edit only those that have changed are asked again."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable
from itertools import pairwise
from typing import Any, TypeVar

from perflint.syntax.words import Uses, uses, words

Answer = TypeVar("Answer")
_CUT = re.compile(r"\n(?=[ \t]*(?:async def|def|class)\b)")
"""Rows before which no word, and nothing that a pattern looks for, goes on from one to the next."""


class Pieces:
    """The pieces of one text after another."""

    def __init__(self, text: str) -> None:
        self._known: dict[str, dict[Hashable, Any]] = {}
        self.put(text)

    def put(self, text: str) -> None:
        """Take another text."""
        cuts = [0, *(match.end() for match in _CUT.finditer(text)), len(text)]
        pieces = (text[start:end] for start, end in pairwise(cuts))
        self._known = {piece: self._known.get(piece, {}) for piece in pieces}

    def ask(self, question: Hashable, answer: Callable[[str], Answer]) -> list[Answer]:
        """What a function says of each piece; ``question`` names the function and what else it is given."""
        for piece, known in self._known.items():
            if question not in known:
                known[question] = answer(piece)
        return [known[question] for known in self._known.values()]

    def matches(self, pattern: re.Pattern[str]) -> bool:
        """Whether a pattern matches somewhere in the text."""
        return any(self.ask(("matches", pattern.pattern), lambda piece: pattern.search(piece) is not None))

    @property
    def words(self) -> frozenset[str]:
        """Every word of the text, as ``mentions.words`` tells them."""
        return frozenset().union(*self.ask("words", words))

    @property
    def uses(self) -> Uses:
        """The words of the text by what stands around them, as ``mentions.uses`` tells them."""
        found = self.ask("uses", uses)
        called, others, bases = zip(*((part.called, part.others, part.bases) for part in found), strict=True)
        return Uses(frozenset().union(*called), frozenset().union(*others), frozenset().union(*bases))
