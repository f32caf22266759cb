"""Writes numbers and lists for sentences."""

from __future__ import annotations

from collections.abc import Sequence


def counted(number: int, noun: str) -> str:
    """A number with its noun: ``1 file``, ``2 files``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def counted_of(some: int, total: int, noun: str) -> str:
    """Some of a number of things: ``2 of 3 files``, or ``3 files`` if it is all of them."""
    return counted(some, noun) if some == total else f"{some} of {counted(total, noun)}"


def listed(names: Sequence[str], most: int) -> str:
    """The first ``most`` names, and how many more there are.

    >>> listed(["a.py", "b.py", "c.py"], 2)
    'a.py, b.py and 1 more'
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
