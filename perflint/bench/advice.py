"""Advice for the reader of a report: which gains it could not have shown, and what an event costs."""

from __future__ import annotations

import math
from collections.abc import Iterator

from perflint.bench.figures import Verdict, by_name, least_seen, times, verdict
from perflint.bench.labels import shortened
from perflint.bench.results import BenchReport
from perflint.text.visible import counted, listed

_WORTH = 0.05
"""A gain that is worth more rounds, if the rounds that were run could not have shown it."""
_SHOWN = 5
"""How many variants are named; the others are only counted."""
_NAME = 36
"""The width of a name."""


def advice(report: BenchReport) -> list[str]:
    """Sentences to print below the figures."""
    return [*_events(report), *_more_rounds(report)]


def _more_rounds(report: BenchReport) -> Iterator[str]:
    """If no gain was measured: which gains could have been seen, and how to see smaller ones."""
    hidden = {
        item.variant: least_seen(item)
        for item in report.comparisons
        if verdict(item) is Verdict.NO_GAIN and 1 + _WORTH < least_seen(item) < math.inf
    }
    if not hidden:
        return
    each = [f"{times(least)} or more of {shortened(name, _NAME)}" for name, least in hidden.items()]
    # The width decreases with the square root of the number of rounds.
    rounds = math.ceil(report.rounds * (math.log(max(hidden.values())) / math.log1p(_WORTH)) ** 2)
    yield (
        f"No gain measured does not mean that there is none: these {counted(report.rounds, 'round')} could only have "
        f"shown {listed(each, _SHOWN)}. To see {times(1 + _WORTH)}, ask for --until {100 * _WORTH:g}%, or for "
        f"--rounds {rounds}, if the runs keep differing this much."
    )


def _events(report: BenchReport) -> Iterator[str]:
    """What the saved milliseconds mean if a fix has removed one event from each step."""
    found = by_name(report)
    for variant in report.variants:
        comparison = found.get(variant.name)
        if not variant.event or comparison is None or comparison.saved_ms is None:
            continue
        if verdict(comparison) is Verdict.FASTER:
            yield (
                f"{variant.fixes[0]} is about {variant.event}, once a step: the time saved per step is what one costs "
                "here, minus what the fix itself costs."
            )
