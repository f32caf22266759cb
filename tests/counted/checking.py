"""Compares what was counted with what ``rules.yaml`` says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from .table import Row

Sides = Mapping[str, Mapping[str, float]]
"""The figures of a script ``before`` and ``after`` the fix, by their names."""


def differences(row: Row, sides: Sides) -> Iterator[str]:
    """A sentence for each figure of a rule that is not what its row says; none if all are."""
    for name, expected in row.figures.items():
        found = figure(sides, name)
        if found != expected:
            yield f"{row.code}: {name}: {arrow(found)} were counted, and rules.yaml says {arrow(expected)}"
    before, after = figure(sides, "launches")
    if after - before > row.launches:
        yield f"{row.code}: {after - before:g} more launches, and rules.yaml allows {row.launches:g}"


def figure(sides: Sides, name: str) -> tuple[float, float]:
    """A figure before and after the fix; what never happened was counted 0 times."""
    return sides["before"].get(name, 0), sides["after"].get(name, 0)


def arrow(pair: tuple[float, float]) -> str:
    """``13 -> 0``."""
    return " -> ".join(f"{number:,.10g}" for number in pair)
