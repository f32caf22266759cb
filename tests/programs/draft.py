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
    that hold a running value, with an expression that a log can show; those in ``plain`` stay names without ``self``.
    ``layout`` is where the training stands (``layouts``), ``home`` the module that holds it, ``modules`` other
    files, ``methods`` more methods of its class.
    ``is_lazy`` says that functions import packages themselves, ``is_guarded`` that the program also runs without
    Paddle; ``environment`` are lines that set what Paddle reads when it is imported.
    """

    chance: random.Random
    layout: str = "function"
    home: str = "__main__"
    is_lazy: bool = False
    is_guarded: bool = False
    environment: Lines = field(default_factory=list)
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
    plain: set[str] = field(default_factory=set)
    modules: dict[str, str] = field(default_factory=dict)
    methods: Lines = field(default_factory=list)
    _numbers: dict[str, int] = field(default_factory=dict)

    @property
    def loads_early(self) -> bool:
        """Whether definitions may need Paddle themselves, and not only when they are called."""
        return not self.is_lazy and not self.is_guarded

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

    def start(self, line: str) -> Lines:
        """A name gets its first value before the epochs, or anew in each of them; gives where that stands."""
        place = self.top if self.often(0.4) else self.before
        place.append(line)
        return place

    def at(self, number: str = "") -> str:
        """What counts here: a name or a number that is given, else the steps, else the epochs."""
        return number or self.counter or "epoch"

    def helper(self, name: str, text: str) -> str:
        """A function or class at the top of the program; gives its name."""
        self.helpers[name] = text
        return name


def inside(header: str, lines: Lines) -> Lines:
    """Lines under a header."""
    return [header, *indent("\n".join(lines or ["pass"]), "    ").split("\n")]
