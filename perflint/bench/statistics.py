"""What two series of runs say about speed, and how sure that is.

The time of a step is the median over the rounds of the same step.  What the script does at this step (save, log, start
an epoch) is in all of them and counts whole; what the machine did in the meantime is in one, and does not.  The ips are
the samples of all measured steps by the sum of these times.

The interval has two parts, on the logarithm of the ratio, which are added as variances are:

- between rounds: pairs of adjacent runs are drawn with replacement, and each draw is evaluated as above.  With few
  rounds such a spread is too small, so it is widened by sqrt(n / (n - 1)) and by Student's t with n - 1 degrees;
- within a run: blocks of neighbouring steps, the same ones of both variants, are drawn with replacement; neighbours are
  not independent, and what comes every so many steps should be in a block or not.
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from perflint.bench.results import Comparison, Steps

LEAST_ROUNDS = 2
"""Pairs of runs below which nothing can be said about how runs differ."""
_DRAWS = 1000
_T = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)
"""Quantile 0.975 of Student's t for 1 to 30 degrees of freedom."""


@dataclass(frozen=True)
class _Pairs:
    """The step times of both variants by round, over the steps that all runs have, and their samples."""

    before: list[list[float]]
    after: list[list[float]]
    samples_before: list[int]
    samples_after: list[int]

    def typical(self, rounds: Sequence[int]) -> tuple[list[float], list[float]]:
        """The typical time of each step before and after, over these rounds."""
        return _medians([self.before[i] for i in rounds]), _medians([self.after[i] for i in rounds])

    def log_ratio(self, before: Sequence[float], after: Sequence[float], steps: Sequence[int]) -> float:
        """The logarithm of the ratio of the ips over these steps."""
        return _log_ips(after, self.samples_after, steps) - _log_ips(before, self.samples_before, steps)


def compare(before: Sequence[Steps], after: Sequence[Steps], seed: int = 0, variant: str = "") -> Comparison:
    """What ``after`` wins over ``before``.

    Args:
        before: the runs of one variant, by round.
        after: those of the other, by round: the runs of one round were made next to each other.
        seed: of the draws; the same runs with the same seed give the same interval.
        variant: the name of the second.

    Raises:
        ValueError: there are fewer than two rounds, not as many runs of both, or runs without a step.
    """
    pairs = _paired(before, after)
    rounds, steps = range(len(before)), range(len(pairs.samples_before))
    typical = pairs.typical(rounds)
    centre = pairs.log_ratio(*typical, steps)
    draw = random.Random(seed)
    between = _t(len(rounds) - 1) * math.sqrt(len(rounds) / (len(rounds) - 1))
    between *= _spread(lambda: pairs.log_ratio(*pairs.typical(draw.choices(rounds, k=len(rounds))), steps))
    blocks = _blocks(len(steps))
    within = 0.0
    if len(blocks) > 1:
        within = _t(len(blocks) - 1) * math.sqrt(len(blocks) / (len(blocks) - 1))
        within *= _spread(lambda: pairs.log_ratio(*typical, _joined(draw.choices(blocks, k=len(blocks)))))
    half = math.hypot(between, within)
    ips = [math.exp(_log_ips(*item, steps)) for item in zip(typical, _samples(pairs), strict=True)]
    low, high = math.exp(centre - half), math.exp(centre + half)
    return Comparison(variant, ips[0], ips[1], math.exp(centre), low, high, *_losses(before, after))


def _paired(before: Sequence[Steps], after: Sequence[Steps]) -> _Pairs:
    if len(before) != len(after) or len(before) < LEAST_ROUNDS:
        raise ValueError(f"{len(before)} runs against {len(after)}: as many of both are needed, and at least two")
    length = min(len(run.batch_s) for run in (*before, *after))
    if length == 0:
        raise ValueError("a run has no measured step")
    times = [[run.batch_s[:length] for run in runs] for runs in (before, after)]
    return _Pairs(times[0], times[1], before[0].samples[:length], after[0].samples[:length])


def _samples(pairs: _Pairs) -> tuple[list[int], list[int]]:
    return pairs.samples_before, pairs.samples_after


def _medians(runs: Sequence[Sequence[float]]) -> list[float]:
    return [statistics.median(step) for step in zip(*runs, strict=True)]


def _log_ips(times: Sequence[float], samples: Sequence[int], steps: Sequence[int]) -> float:
    return math.log(sum(samples[i] for i in steps) / sum(times[i] for i in steps))


def _spread(value: Callable[[], float]) -> float:
    return statistics.pstdev(value() for _ in range(_DRAWS))


def _blocks(length: int) -> list[list[int]]:
    """The steps in blocks of about the square root of their number."""
    size = max(1, math.isqrt(length))
    return [list(range(start, min(start + size, length))) for start in range(0, length, size)]


def _joined(blocks: Sequence[Sequence[int]]) -> list[int]:
    return [step for block in blocks for step in block]


def _t(degrees: int) -> float:
    # Beyond the table the quantile is nearly linear in 1 / degrees.
    return _T[degrees - 1] if degrees <= len(_T) else 1.96 + 2.46 / degrees


def _losses(before: Sequence[Steps], after: Sequence[Steps]) -> tuple[bool | None, int | None, float | None]:
    """Whether the losses are the same, the first step where they are not, and by how much they differ at most."""
    if _first_difference(before[0], before[1:]) is not None:
        return None, None, None  # the script alone does not repeat itself: nothing follows from a difference
    if not any(loss is not None for run in (*before, *after) for loss in run.losses):
        return None, None, None
    first = _first_difference(before[0], after)
    if first is None:
        return True, None, None
    return False, first + 1, _largest(before[0], after)


def _first_difference(one: Steps, others: Sequence[Steps]) -> int | None:
    found = (
        step
        for other in others
        for step, (left, right) in enumerate(zip(one.losses, other.losses, strict=False))
        if not _same(left, right)
    )
    return min(found, default=None)


def _same(left: float | None, right: float | None) -> bool:
    if left is None or right is None:
        return left is right
    return left == right or (math.isnan(left) and math.isnan(right))


def _largest(one: Steps, others: Sequence[Steps]) -> float | None:
    """The largest difference relative to the loss of ``one``; None where it is not finite."""
    largest = 0.0
    for other in others:
        for left, right in zip(one.losses, other.losses, strict=False):
            if not _same(left, right):
                if left is None or right is None or not math.isfinite(left - right):
                    return None
                largest = max(largest, abs(left - right) / (abs(left) or 1.0))
    return largest
