"""Divides a list of work among processes: one byte for each item, in shared memory."""

from __future__ import annotations

import mmap
from collections.abc import Iterable


class Claims:
    """Which items have been taken, by this process or by one that it has forked since.

    There are no locks: two processes may take an item at the same moment, so doing its work twice must be harmless.

    Args:
        names: the items.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._number = {name: number for number, name in enumerate(names)}
        self._taken = mmap.mmap(-1, max(len(self._number), 1))

    def take(self, name: str) -> bool:
        """Take an item; False if it is already taken."""
        number = self._number[name]
        if self._taken[number]:
            return False
        self._taken[number] = 1
        return True

    def is_taken(self, name: str) -> bool:
        """Whether an item is taken."""
        return bool(self._taken[self._number[name]])
