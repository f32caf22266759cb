"""The figures of a measurement, as stored in JSON: how much faster a variant is, and how certain that is.

Seconds come from a monotonic clock. A report contains each measured step, so that other statistics can be computed from
it later.

The runs of two variants alternate, so that both runs of a round meet the same state of the machine: what counts is the
ratio of their ips in each round. The logarithms of these ratios have a mean, and the interval around it comes from how
much they differ from round to round (Student's t, with one degree of freedom fewer than there are rounds). The steps of
a run do not make the interval narrower: they share a process, its memory and the state of the machine, so a thousand of
them say no more about the next run than a hundred. The milliseconds saved per step have an interval of the same kind,
around the mean of the differences of the rounds.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields
from typing import Any, TypeVar

BEFORE, ALL_FIXES, ALL_SHOWN = "before", "all fixes", "all with suggestions"
"""Names of variants: the unchanged script, with all applied fixes, and also with those that are only shown."""

Kept = TypeVar("Kept", bound="KeptAsJson")


@dataclass(frozen=True)
class KeptAsJson:
    """A dataclass that can be written as JSON and read again."""

    def to_json(self) -> dict[str, Any]:
        """The fields for ``json.dumps``."""
        return asdict(self)

    @classmethod
    def from_json(cls: type[Kept], data: dict[str, Any]) -> Kept:
        """Read what ``to_json`` has written; unknown fields, which a later version may have added, are ignored.

        Raises:
            KeyError: a field is missing.
        """
        needed = {each.name for each in fields(cls) if each.default is MISSING and each.default_factory is MISSING}
        names = [each.name for each in fields(cls) if each.name in data or each.name in needed]
        return cls(**{name: data[name] for name in names})


@dataclass(frozen=True)
class Steps(KeptAsJson):
    """One run of one variant: an entry for each measured step, in order, without the warm-up.

    ``batch_s``: seconds from the end of one optimizer step to the end of the next. ``reader_s``: the part of it that
    was spent in the loader's ``next``. ``samples``: samples of the batch. ``losses``: None if ``backward`` was not
    called on a single number. ``peak_memory_mib``: of the device if it is a GPU, otherwise of the process.
    """

    batch_s: list[float]
    reader_s: list[float]
    samples: list[int]
    losses: list[float | None]
    peak_memory_mib: float
    device: str

    @property
    def ips(self) -> float:
        """Samples per second over all measured steps; 0 if they took no time."""
        seconds = sum(self.batch_s)
        return sum(self.samples) / seconds if seconds else 0.0


@dataclass(frozen=True)
class Variant(KeptAsJson):
    """The script in one state: ``before``, ``PPF201 train.py:109`` for one fix, or ``all fixes``.

    ``codes`` and ``places`` (``path:row``) are those of the findings that were fixed; ``fixes`` names each with its
    rule (``PPF201 train.py:109``); ``runs`` has one entry per round. ``event`` is what the fix removes from each step,
    in words (``a wait for the device``), if it removes one event per step; otherwise it is empty.
    """

    name: str
    codes: list[str]
    places: list[str]
    runs: list[Steps]
    fixes: list[str] = field(default_factory=list)
    event: str = ""

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Variant:
        """Like `KeptAsJson.from_json`, including its runs."""
        return super().from_json({**data, "runs": [Steps.from_json(run) for run in data["runs"]]})


@dataclass(frozen=True)
class Comparison(KeptAsJson):
    """A variant compared with ``before``, or with the older of two revisions.

    ``ips_before`` and ``ips_after`` are samples per second, geometric means over the rounds; ``ratio`` is the second
    divided by the first, ``low`` to ``high`` its 95 % interval. ``same_losses``: whether all losses are equal to the
    last bit; None if there are none, or if they differ between runs of the same script. If they differ, ``differ_from``
    is the first measured step (from 1) with a different loss, ``differ_by`` the largest difference, relative to the
    loss before (None: not finite).

    ``saved_ms`` is how many milliseconds shorter the mean step is, ``saved_low`` to ``saved_high`` the 95 % interval of
    that; below 0 if steps got longer, and None if the two have different numbers of samples per step.
    """

    variant: str
    ips_before: float
    ips_after: float
    ratio: float
    low: float
    high: float
    same_losses: bool | None
    differ_from: int | None = None
    differ_by: float | None = None
    saved_ms: float | None = None
    saved_low: float | None = None
    saved_high: float | None = None


@dataclass(frozen=True)
class BenchReport(KeptAsJson):
    """A whole measurement. ``date`` is UTC, as in ISO 8601; ``warmup`` and ``steps`` apply to each run.

    ``conditions`` are what the figures depend on, and ``failed`` has the variants that were left out, with the reason;
    ``--resume`` needs both.
    ``pilot`` is the number of rounds after which the width of the intervals was first checked, to continue until they
    were narrow enough (``--until``); 0 if the number of rounds was fixed.
    """

    script: str
    arguments: list[str]
    machine: str
    versions: dict[str, str]
    date: str
    warmup: int
    steps: int
    rounds: int
    variants: list[Variant]
    comparisons: list[Comparison]
    notes: list[str]
    conditions: dict[str, str] | None = None
    failed: dict[str, str] | None = None
    pilot: int = 0

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> BenchReport:
        """Like `KeptAsJson.from_json`, including its variants and comparisons."""
        variants = [Variant.from_json(item) for item in data["variants"]]
        comparisons = [Comparison.from_json(item) for item in data["comparisons"]]
        return super().from_json({**data, "variants": variants, "comparisons": comparisons})


LEAST_ROUNDS = 3
"""The least number of rounds to compare: with two, the interval of a true ratio of 1 is from a fifth to five."""
# The 0.975 quantiles of Student's t for 1, 2, ... degrees of freedom: NIST/SEMATECH e-Handbook of Statistical Methods,
# section 1.3.6.7.2.
_T = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)
_SAME_SAMPLES = 0.01
"""The steps of two variants are compared in milliseconds only if their samples per step differ by at most this part:
a short last batch is in some runs and not in others.
"""
_MOST = 1_000_000
"""The largest number of rounds to predict; the time limit is reached long before."""


def compared(before: Sequence[Steps], after: Sequence[Steps]) -> tuple[bool | None, int | None, float | None]:
    """Compare the losses of two variants step by step.

    Returns:
        Whether all are the same to the last bit, or None if that is unknown (there are none, or those of ``before``
        differ between its own runs); then, if they differ, the first step with a different loss (from 1), and the
        largest difference relative to the loss before (None: not finite).
    """
    if _first_difference(before[0], before[1:]) is not None:
        return None, None, None  # the script alone does not repeat its own losses, so a difference means nothing
    if not any(loss is not None for run in (*before, *after) for loss in run.losses):
        return None, None, None
    first = _first_difference(before[0], after)
    if first is None:
        return True, None, None
    return False, first + 1, largest_difference(before[0], after)


def _first_difference(one: Steps, others: Sequence[Steps]) -> int | None:
    return min((step for step, _, _ in _differing(one, others)), default=None)


def _differing(one: Steps, others: Sequence[Steps]) -> Iterator[tuple[int, float | None, float | None]]:
    """The steps whose losses are not the same, each with both losses."""
    for other in others:
        for step, (left, right) in enumerate(zip(one.losses, other.losses, strict=False)):
            if not _same(left, right):
                yield step, left, right


def _same(left: float | None, right: float | None) -> bool:
    if left is None or right is None:
        return left is right
    return left == right or (math.isnan(left) and math.isnan(right))


def largest_difference(one: Steps, others: Sequence[Steps]) -> float | None:
    """The largest difference of a loss in ``others``, relative to that of ``one``; None if it is not finite."""
    largest = 0.0
    for _, left, right in _differing(one, others):
        if left is None or right is None or not math.isfinite(left - right):
            return None
        largest = max(largest, abs(left - right) / (abs(left) or 1.0))
    return largest


def difference_in_words(difference: float | None) -> str:
    """A relative difference of losses, as `largest_difference` returns it."""
    return "more than a number says" if difference is None else f"up to {difference:.2g} of the loss"


def compare(before: Sequence[Steps], after: Sequence[Steps], variant: str = "", pilot: int = 0) -> Comparison:
    """Compare ``after`` with ``before``.

    Args:
        before: the runs of one variant, by round.
        after: those of the other, by round.
        variant: the name of the second.
        pilot: the number of rounds after which the width of the interval began to decide how many more to run, or 0.

    Raises:
        ValueError: there are fewer than ``LEAST_ROUNDS``, different numbers of runs, or runs whose steps took no time.
    """
    if len(before) != len(after) or len(before) < LEAST_ROUNDS:
        wanted = f"as many of both are needed, and at least {LEAST_ROUNDS}"
        raise ValueError(f"{len(before)} runs against {len(after)}: {wanted}")
    if not all(run.ips for run in (*before, *after)):
        raise ValueError("a run has no measured step")
    logs = [math.log(later.ips / earlier.ips) for earlier, later in zip(before, after, strict=True)]
    centre, half = statistics.fmean(logs), half_width(logs, pilot)
    return Comparison(
        variant,
        statistics.geometric_mean(run.ips for run in before),
        statistics.geometric_mean(run.ips for run in after),
        math.exp(centre),
        math.exp(centre - half),
        math.exp(centre + half),
        *compared(before, after),
        *_saved(before, after, pilot),
    )


def half_width(values: Sequence[float], pilot: int = 0) -> float:
    """Half of the 95 % interval around the mean of the values of all rounds, in their unit.

    It is ``t(n - 1) * s / sqrt(n)``, with the standard deviation ``s`` of all ``n`` values. If the width decides when
    to stop (``pilot``), that alone would be too narrow, because one stops when ``s`` happens to be small. So the
    standard deviation of the first ``pilot`` rounds counts as well, with the larger ``t`` for so few rounds:

        the larger of ``t(n - 1) * s(n)`` and ``t(pilot - 1) * s(pilot)``, by ``sqrt(n)``

    An interval with the second of these has exactly 95 %, whatever ``n`` the widths lead to: for normal values, the
    mean of the first n is independent of all standard deviations up to then, and so of the decision to stop (C. Stein,
    A two-sample test for a linear hypothesis whose power is independent of the variance, Annals of Mathematical
    Statistics 16, 1945, pages 243-258). The larger of the two holds the truth at least as often.

    Args:
        values: one for each round, at least two.
        pilot: as for `compare`.
    """
    counts = {len(values), min(pilot, len(values)) or len(values)}
    return max(_t(count - 1) * _deviation(values[:count]) for count in counts) / math.sqrt(len(values))


def _deviation(values: Sequence[float]) -> float:
    """The standard deviation; ``statistics.stdev`` calculates with fractions, which takes forty times as long."""
    centre = statistics.fmean(values)
    return math.sqrt(math.fsum((value - centre) ** 2 for value in values) / (len(values) - 1))


def _saved(before: Sequence[Steps], after: Sequence[Steps], pilot: int) -> Sequence[float | None]:
    """How many milliseconds shorter a step got, and the interval of that; None if the steps are not comparable."""
    if not math.isclose(_samples(before), _samples(after), rel_tol=_SAME_SAMPLES):
        return None, None, None
    differences = [_batch_ms(earlier) - _batch_ms(later) for earlier, later in zip(before, after, strict=True)]
    mean, half = statistics.fmean(differences), half_width(differences, pilot)
    return mean, mean - half, mean + half


def _samples(runs: Sequence[Steps]) -> float:
    return statistics.fmean(samples for run in runs for samples in run.samples)


def _batch_ms(run: Steps) -> float:
    return 1000 * statistics.fmean(run.batch_s)


def _t(degrees: int) -> float:
    # Beyond the table, the quantile is nearly linear in 1 / degrees.
    return _T[degrees - 1] if degrees <= len(_T) else 1.96 + 2.46 / degrees


@dataclass(frozen=True)
class Rounds:
    """Decides when to stop.

    ``least`` is the number of rounds, and with ``until``, the number of rounds before the widths are checked for the
    first time. ``until`` is the relative distance allowed between either end of an interval and its ratio: with 0.05 a
    ratio of 1.20 has an interval within 1.14 (1.20 / 1.05) and 1.26 (1.20 * 1.05). None: as many rounds as ``least``
    says.

    Only the spread of the ratios decides, never their values, so the rounds do not continue until some verdict is
    reached; `half_width` explains why the intervals keep their 95 %.

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
