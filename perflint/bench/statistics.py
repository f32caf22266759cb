"""How much faster a variant is, and how sure that is.

The runs of two variants take turns, so that the two of one round meet the same machine: what counts is the ratio of
their ips, round by round.  The logarithms of these ratios have a mean, and the interval around it comes from how much
they differ from round to round (Student's t, with one degree of freedom less than there are rounds).  The steps of a
run do not make the interval narrower: they share a process, its memory and the state of the machine, so a thousand of
them say no more about the next run than a hundred.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from perflint.bench.losses import compared
from perflint.bench.results import Comparison, Steps

LEAST_ROUNDS = 3
"""Rounds below which nothing is said: with two, the interval of a true ratio of 1 reaches from a fifth to five."""
# The 0.975 quantiles of Student's t for 1, 2, ... degrees of freedom: NIST/SEMATECH e-Handbook of Statistical Methods,
# section 1.3.6.7.2.
_T = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)


def compare(before: Sequence[Steps], after: Sequence[Steps], variant: str = "") -> Comparison:
    """What ``after`` wins over ``before``.

    Args:
        before: the runs of one variant, by round.
        after: those of the other, by round.
        variant: the name of the second.

    Raises:
        ValueError: there are fewer than ``LEAST_ROUNDS``, not as many runs of both, or runs whose steps took no time.
    """
    if len(before) != len(after) or len(before) < LEAST_ROUNDS:
        wanted = f"as many of both are needed, and at least {LEAST_ROUNDS}"
        raise ValueError(f"{len(before)} runs against {len(after)}: {wanted}")
    if not all(run.ips for run in (*before, *after)):
        raise ValueError("a run has no measured step")
    logs = [math.log(later.ips / earlier.ips) for earlier, later in zip(before, after, strict=True)]
    centre = statistics.fmean(logs)
    half = _t(len(logs) - 1) * statistics.stdev(logs) / math.sqrt(len(logs))
    return Comparison(
        variant,
        statistics.geometric_mean(run.ips for run in before),
        statistics.geometric_mean(run.ips for run in after),
        math.exp(centre),
        math.exp(centre - half),
        math.exp(centre + half),
        *compared(before, after),
    )


def _t(degrees: int) -> float:
    # Beyond the table the quantile is nearly linear in 1 / degrees.
    return _T[degrees - 1] if degrees <= len(_T) else 1.96 + 2.46 / degrees
