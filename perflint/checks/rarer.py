"""Fixes that make something happen less often: ``unsafe`` at best, with a reason that says how much is lost.

All fixes of this kind are created here, so that none of them can be applied without ``--unsafe-fixes``.
"""

from __future__ import annotations

from collections.abc import Iterable

from perflint.findings import Edit, Fix, Level

LINES = "{lost} of {interval} lines {are} no longer printed"
POINTS = "{lost} of {interval} points {are} no longer recorded"
BAR = "the progress bar shows only every {nth} value"
BATCHES = "the metric covers only every {nth} batch: {lost} of {interval} {are} left out"
CALLS = "{lost} of {interval} calls {are} no longer made"
SAVES = "{lost} of {interval} saves {are} no longer made"


def fix(title: str, edits: Iterable[Edit], what: Iterable[str], interval: int, also: Iterable[str] = ()) -> Fix:
    """A fix that makes ``LINES``, ``POINTS`` or the like every ``interval``-th step; ``also``: what else can change."""
    return Fix(title, tuple(edits), Level.UNSAFE, reason(what, interval, also))


def words(title: str, advice: str) -> Fix:
    """What to do if no edit can be offered."""
    return Fix(title, (), Level.DISPLAY, advice)


def reason(what: Iterable[str], interval: int, also: Iterable[str] = ()) -> str:
    """``9 of 10 lines are no longer printed``: what is lost, in numbers."""
    lost = interval - 1
    are = "is" if lost == 1 else "are"
    said = [text.format(lost=lost, interval=interval, nth=ordinal(interval), are=are) for text in dict.fromkeys(what)]
    return "; ".join([*said, *filter(None, dict.fromkeys(also))])


def ordinal(number: int) -> str:
    """``2nd``, ``10th``, ``21st``."""
    last = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{last}"
