"""The ratio of two sides over the rounds of a measurement, with its interval; needs neither PyTorch nor a card."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from perflint.bench.results import half_width


def interval(values: Sequence[float]) -> tuple[float, float, float]:
    """The mean with the ends of its 95 % interval (Student's t)."""
    centre, half = statistics.fmean(values), half_width(list(values))
    return centre, centre - half, centre + half


def ratio_of(before: Sequence[float], after: Sequence[float]) -> list[float]:
    """The ratio of the times of two sides with its interval, from the logarithms of the ratios of the rounds."""
    logs = [math.log(first / second) for first, second in zip(before, after, strict=True)]
    return [round(math.exp(value), 4) for value in interval(logs)]
