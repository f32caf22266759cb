"""Collects many time spans: joins those that overlap, and measures them within windows."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence

Span = tuple[float, float]
"""A start and an end, in the same unit."""


class Spans:
    """Time spans that are added one by one; sixteen bytes each, and none for one inside the previous one."""

    def __init__(self) -> None:
        self._starts = array("d")
        self._ends = array("d")

    def __len__(self) -> int:
        return len(self._starts)

    def add(self, start: float, end: float) -> None:
        """Add a span; one that begins within the last one extends it, or is part of it."""
        if self._starts and self._starts[-1] <= start <= self._ends[-1]:
            self._ends[-1] = max(self._ends[-1], end)
        else:
            self._starts.append(start)
            self._ends.append(end)

    def joined(self) -> list[Span]:
        """All of them in order, as spans that do not touch."""
        return joined(zip(self._starts, self._ends, strict=True))


def joined(spans: Iterable[Span]) -> list[Span]:
    """Spans in order, with those that touch or overlap joined.

    >>> joined([(5.0, 7.0), (0.0, 2.0), (1.0, 3.0)])
    [(0.0, 3.0), (5.0, 7.0)]
    """
    found: list[Span] = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((start, end))
    return found


def within(spans: Sequence[Span], windows: Sequence[Span]) -> float:
    """How much of some spans is within some windows; both in order, and without overlaps.

    >>> within([(0.0, 3.0), (5.0, 7.0)], [(2.0, 6.0)])
    2.0
    """
    total, index = 0.0, 0
    for start, end in windows:
        while index < len(spans) and spans[index][1] <= start:
            index += 1
        at = index
        while at < len(spans) and spans[at][0] < end:
            total += min(spans[at][1], end) - max(spans[at][0], start)
            at += 1
    return total


def length(spans: Iterable[Span]) -> float:
    """The total length of spans that do not overlap."""
    return sum(end - start for start, end in spans)
