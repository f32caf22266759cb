"""A program in the making: what its pieces have asked for at each place of it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from textwrap import indent
from typing import TypeVar

T = TypeVar("T")
Lines = list[str]


@dataclass
class Draft:
    """What is known of the program while its training is written.

    ``counter`` names what counts the steps (empty: nothing does), ``loader`` what is run over; ``sized`` says whether
    that has a length, ``wide`` that the model is to have a layer which tensor cores do not like.  Pieces add lines:
    ``top`` stands before the epochs, ``before`` before the step loop, ``after`` behind it, and ``last`` at the end of
    an epoch.  ``returned`` are names that it gives back, ``running`` names
    that hold a running value, with an expression that a log can show.
    """

    chance: random.Random
    counter: str = ""
    loader: str = "loader"
    sized: bool = True
    wide: bool = False
    imports: set[str] = field(default_factory=set)
    helpers: dict[str, str] = field(default_factory=dict)
    top: Lines = field(default_factory=list)
    before: Lines = field(default_factory=list)
    after: Lines = field(default_factory=list)
    last: Lines = field(default_factory=list)
    returned: list[str] = field(default_factory=list)
    running: dict[str, str] = field(default_factory=dict)
    _numbers: dict[str, int] = field(default_factory=dict)

    def one(self, choices: Sequence[T]) -> T:
        """One of several, each as likely as the others."""
        return self.chance.choice(choices)

    def often(self, share: float) -> bool:
        """True in so many of all cases."""
        return self.chance.random() < share

    def new(self, *names: str) -> str:
        """One of these names, with a number behind it where it is taken."""
        name = self.one(names)
        self._numbers[name] = self._numbers.get(name, 0) + 1
        return name if self._numbers[name] == 1 else f"{name}{self._numbers[name]}"

    def helper(self, name: str, text: str) -> str:
        """A function or class at the top of the program; gives its name."""
        self.helpers[name] = text
        return name


def inside(header: str, lines: Lines) -> Lines:
    """Lines under a header."""
    return [header, *indent("\n".join(lines or ["pass"]), "    ").split("\n")]
