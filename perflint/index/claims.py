"""Who does what among processes that work on the same list: one byte for each thing, in memory that they share."""

from __future__ import annotations

import mmap
from collections.abc import Iterable


class Claims:
    """Which things have been taken, by this process or by one that it has forked since.

    Nothing is locked: two processes that ask at the same moment may both be given a thing, so what is done with it has
    to be right when it is done twice.

    Args:
        names: the things.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._number = {name: number for number, name in enumerate(names)}
        self._taken = mmap.mmap(-1, max(len(self._number), 1))

    def take(self, name: str) -> bool:
        """Take a thing; False where somebody has it."""
        number = self._number[name]
        if self._taken[number]:
            return False
        self._taken[number] = 1
        return True

    def is_taken(self, name: str) -> bool:
        """Whether somebody has a thing."""
        return bool(self._taken[self._number[name]])
