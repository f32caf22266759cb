"""Decides how many rounds are run: a fixed number, or until every interval is narrow enough."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from perflint.bench.statistics import half_width

_MOST = 1_000_000
"""The largest number of rounds to predict; the time limit is reached long before."""


@dataclass(frozen=True)
class Rounds:
    """Decides when to stop.

    ``least`` is the number of rounds, and with ``until``, the number of rounds before the widths are checked for the
    first time. ``until`` is the relative distance allowed between either end of an interval and its ratio: with 0.05 a
    ratio of 1.20 has an interval within 1.14 (1.20 / 1.05) and 1.26 (1.20 * 1.05). None: as many rounds as ``least``
    says.

    Only the spread of the ratios decides, never their values, so the rounds do not continue until some verdict is
    reached; `statistics.half_width` explains why the intervals keep their 95 %.

    ``resumed`` is the pilot of the measurement that is continued, 0 if there is none or if its widths were not checked.
    """

    least: int
    until: float | None = None
    resumed: int = 0

    @property
    def pilot(self) -> int:
        """The rounds before the widths are first checked; 0 if they never are."""
        return self.resumed or (self.least if self.until is not None else 0)

    def wanted(self, logs: Iterable[Sequence[float]]) -> int:
        """How many rounds there should be, judging by the finished ones.

        Args:
            logs: for each comparison, the logarithms of the ratios of ips, one per round; all of the same length.
        """
        series = [each for each in logs if len(each) >= self.least]
        if self.until is None or not series:
            return self.least
        return max(self._wanted(each, self.until) for each in series)

    def _wanted(self, logs: Sequence[float], until: float) -> int:
        half, narrow = half_width(logs, self.pilot), math.log1p(until)
        if half <= narrow:
            return len(logs)
        # The width decreases with the square root of the number of rounds; at least one more, or nothing would
        # progress.
        return min(_MOST, max(len(logs) + 1, math.ceil(len(logs) * (half / narrow) ** 2)))
