"""How many rounds are run: a fixed number, or as many as it takes until every interval is narrow enough."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from perflint.bench.statistics import half_width

_MOST = 1_000_000
"""Rounds that are foretold at most; the time limit comes long before."""


@dataclass(frozen=True)
class Rounds:
    """When to stop.

    ``least`` is the number of rounds, and with ``until`` that of the rounds before the widths are looked at first.
    ``until`` is the part by which either end of an interval may lie apart from its ratio: with 0.05 a ratio of 1.20
    has an interval within 1.14 (1.20 / 1.05) and 1.26 (1.20 * 1.05).  None: as many rounds as ``least`` says.

    Only how much the ratios differ from round to round decides, never what they are, so that no verdict is waited for;
    `statistics.half_width` explains why the intervals keep their 95 % all the same.

    ``resumed`` is the pilot of the measurement that is gone on with, 0 if there is none or if nobody looked there.
    """

    least: int
    until: float | None = None
    resumed: int = 0

    @property
    def pilot(self) -> int:
        """The rounds before the first look; 0 where nobody looks."""
        return self.resumed or (self.least if self.until is not None else 0)

    def wanted(self, logs: Iterable[Sequence[float]]) -> int:
        """How many rounds there should be, as far as those that are over tell.

        Args:
            logs: for each comparison the logarithms of the ratios of ips, one a round; as many of each.
        """
        series = [each for each in logs if len(each) >= self.least]
        if self.until is None or not series:
            return self.least
        return max(self._wanted(each, self.until) for each in series)

    def _wanted(self, logs: Sequence[float], until: float) -> int:
        half, narrow = half_width(logs, self.pilot), math.log1p(until)
        if half <= narrow:
            return len(logs)
        # The width goes down with the root of the rounds; one more at least, or nothing would go on.
        return min(_MOST, max(len(logs) + 1, math.ceil(len(logs) * (half / narrow) ** 2)))
