"""What follows from the figures of a report for its reader: what they could not have shown, and what an event costs."""

from __future__ import annotations

import math
from collections.abc import Iterator

from perflint.bench.figures import Verdict, by_name, least_seen, times, verdict
from perflint.bench.labels import shortened
from perflint.bench.results import BenchReport
from perflint.text.wording import counted, listed

_WORTH = 0.05
"""A gain that is worth more rounds, if those that were run could not have shown it."""
_SHOWN = 5
"""Variants that are named; the others are counted."""
_NAME = 36
"""Columns of a name."""


def advice(report: BenchReport) -> list[str]:
    """Sentences to stand below the figures."""
    return [*_events(report), *_more_rounds(report)]


def _more_rounds(report: BenchReport) -> Iterator[str]:
    """What could have been seen where no gain was measured, and what to do if that is not enough."""
    hidden = {
        item.variant: least_seen(item)
        for item in report.comparisons
        if verdict(item) is Verdict.NO_GAIN and 1 + _WORTH < least_seen(item) < math.inf
    }
    if not hidden:
        return
    each = [f"{times(least)} or more of {shortened(name, _NAME)}" for name, least in hidden.items()]
    # The width goes down with the root of the rounds.
    rounds = math.ceil(report.rounds * (math.log(max(hidden.values())) / math.log1p(_WORTH)) ** 2)
    yield (
        f"No gain measured does not mean that there is none: these {counted(report.rounds, 'round')} could only have "
        f"shown {listed(each, _SHOWN)}. To see {times(1 + _WORTH)}, ask for --until {100 * _WORTH:g}%, or for "
        f"--rounds {rounds}, if the runs go on to differ so much."
    )


def _events(report: BenchReport) -> Iterator[str]:
    """What the milliseconds stand for where a fix has won some by taking one event out of each step."""
    found = by_name(report)
    for variant in report.variants:
        comparison = found.get(variant.name)
        if not variant.event or comparison is None or comparison.saved_ms is None:
            continue
        if verdict(comparison) is Verdict.FASTER:
            yield (
                f"{variant.fixes[0]} is about {variant.event}, once a step: what is saved a step is what one costs "
                "here, less what the fix itself costs."
            )
