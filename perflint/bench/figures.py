"""The figures shown in a bench report, of each variant and of each comparison, and names shortened to fit."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from statistics import fmean, geometric_mean

from perflint.bench.results import ALL_FIXES, BenchReport, Comparison, Variant
from perflint.text.visible import char_width, visible


def width(text: str) -> int:
    """The number of terminal columns that a text takes."""
    return sum(map(char_width, text))


def shortened(text: str, columns: int) -> str:
    """Text shortened to at most ``columns`` columns by cutting out its middle; control characters are escaped."""
    text = visible(text)
    if width(text) <= columns:
        return text
    head = max(0, columns - 1) // 3
    tail = max(0, columns - 1 - head)
    return f"{_fitting(text, head)}…{_fitting(text[::-1], tail)[::-1]}"


def start_of(text: str, columns: int) -> str:
    """The beginning of a text, in at most ``columns`` columns; control characters are escaped."""
    text = visible(text)
    return text if width(text) <= columns else f"{_fitting(text, columns - 1)}…"[: max(0, columns)]


def _fitting(text: str, columns: int) -> str:
    taken = 0
    for at, char in enumerate(text):
        taken += char_width(char)
        if taken > columns:
            return text[:at]
    return text


def padded(text: str, columns: int, to_the_right: bool = False) -> str:
    """Text with spaces, to fill so many columns."""
    space = " " * (columns - width(text))
    return space + text if to_the_right else text + space


def folded(text: str, columns: int, indent: str) -> Iterator[str]:
    """Lines of ``text``, broken at spaces; a word wider than a line gets its own line."""
    line = indent
    for word in text.split(" "):
        if line.strip() and width(line) + width(word) > columns:
            yield line.rstrip()
            line = indent + ("  " if indent else "")
        line += word + " "
    yield line.rstrip()


@dataclass(frozen=True)
class Spread:
    """A mean over the rounds, and the value of each."""

    mean: float
    rounds: Sequence[float]

    @property
    def ends(self) -> str:
        """The smallest and the largest value, ``20.0 to 80.0``; empty if there was only one round."""
        return f"{number(min(self.rounds))} to {number(max(self.rounds))}" if len(self.rounds) > 1 else ""


@dataclass(frozen=True)
class Figures:
    """A summary of a variant's measured steps.

    ``ips`` is samples per second, with the geometric mean over the rounds as in `statistics`. ``batch_ms`` and
    ``reader_ms`` are mean milliseconds per step, like batch_cost and reader_cost of Paddle's profiler. ``memory_mib``
    is the highest peak, or None if it was not measured.
    """

    ips: Spread
    batch_ms: Spread
    reader_ms: Spread
    memory_mib: float | None

    @property
    def reader_share(self) -> float:
        """The share of a step spent waiting for the loader, from 0 to 1."""
        return min(1.0, self.reader_ms.mean / self.batch_ms.mean) if self.batch_ms.mean else 0.0


def summary(variant: Variant) -> Figures | None:
    """The figures of a variant; None if its steps took no time."""
    runs = [run for run in variant.runs if run.ips]
    if not runs:
        return None
    ips = [run.ips for run in runs]
    batch, reader = [1000 * fmean(run.batch_s) for run in runs], [1000 * fmean(run.reader_s) for run in runs]
    memory = max(run.peak_memory_mib for run in runs)
    known = memory if math.isfinite(memory) and memory > 0 else None
    return Figures(Spread(geometric_mean(ips), ips), Spread(fmean(batch), batch), Spread(fmean(reader), reader), known)


class Verdict(Enum):
    """The verdict that the interval of a ratio allows; the value is its text in a table."""

    FASTER = "faster"
    NO_GAIN = "no gain measured"
    SLOWER = "slower"


def verdict(comparison: Comparison) -> Verdict:
    """`NO_GAIN` if the interval contains 1, whatever the ratio itself is."""
    if comparison.low > 1:
        return Verdict.FASTER
    return Verdict.SLOWER if comparison.high < 1 else Verdict.NO_GAIN


def least_seen(comparison: Comparison) -> float:
    """The smallest ratio that this measurement could have shown to be a gain; infinite or NaN if there is none.

    The interval reaches from ``ratio / f`` to ``ratio * f`` with ``f = sqrt(high / low)``, the exponential of half of
    its width, ``t * s / sqrt(rounds)``. So it lies above 1 if the measured ratio is more than ``f``, and ``f`` is the
    answer. A true gain of exactly ``f`` is measured as more than that half of the time, and missed otherwise.
    """
    return math.sqrt(comparison.high / comparison.low) if comparison.low > 0 else math.inf


def times(value: float) -> str:
    """A ratio as text, with two significant digits of the part above 1: ``2.5x``, ``1.16x``, ``1.0035x``."""
    if not math.isfinite(value) or value <= 1:
        return f"{value:g}x"
    digits = f"{value:.{min(6, max(1, 1 - math.floor(math.log10(value - 1))))}f}"
    return f"{digits.rstrip('0').rstrip('.')}x"


def saved(comparison: Comparison) -> str:
    """The milliseconds saved per step with their interval, ``0.54 ms (0.48 to 0.60)``; empty if unknown."""
    figures_ = comparison.saved_ms, comparison.saved_low, comparison.saved_high
    if any(value is None or not math.isfinite(value) for value in figures_):
        return ""
    middle, low, high = (value for value in figures_ if value is not None)
    spread = (high - low) / 2 or abs(middle) / 10
    decimals = min(6, max(0, 1 - math.floor(math.log10(spread)))) if spread > 0 else 0
    # Adding 0 turns a rounded -0 into 0.
    middle, low, high = (round(value, decimals) + 0.0 for value in (middle, low, high))
    return f"{middle:.{decimals}f} ms ({low:.{decimals}f} to {high:.{decimals}f})"


def sentence(comparison: Comparison) -> str:
    """The verdict with the ratio and its interval, and the milliseconds, as a clause without a full stop."""
    found = verdict(comparison)
    says = {
        Verdict.FASTER: f"{ratio(comparison)} times as fast",
        Verdict.NO_GAIN: "no gain measured",
        Verdict.SLOWER: f"slower, {ratio(comparison)} times the ips",
    }[found]
    measured = f"ratio {ratio(comparison)}, " if found is Verdict.NO_GAIN else ""
    says = f"{says} ({measured}95 % interval {interval(comparison)})"
    least = least_seen(comparison)
    if found is Verdict.NO_GAIN and 1 < least < math.inf:
        says += f": this could only have shown {times(least)} or more"
    return says + (f"; saved per step: {saved(comparison)}" if saved(comparison) else "")


def ratio(comparison: Comparison) -> str:
    """The ratio, with as many digits as its interval."""
    return f"{comparison.ratio:.{_digits(comparison)}f}"


def interval(comparison: Comparison) -> str:
    """``1.31 to 1.55``."""
    digits = _digits(comparison)
    return f"{comparison.low:.{digits}f} to {comparison.high:.{digits}f}"


def _digits(comparison: Comparison) -> int:
    """Two decimals, or enough that an end of the interval other than 1 is not shown as 1."""
    ends = [end for end in (comparison.low, comparison.high) if end != 1]
    return next((digits for digits in range(2, 6) if all(round(end, digits) != 1 for end in ends)), 6)


def number(value: float) -> str:
    """Three significant digits, without an exponent: ``1234``, ``56.8``, ``0.0123``."""
    if not math.isfinite(value):
        return str(value)
    if value == 0 or abs(value) < 1e-6:
        return "0"
    decimals = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:.{decimals}f}"


def losses(comparison: Comparison) -> str:
    """Whether the losses stayed the same, in a word or two."""
    if comparison.same_losses is None:
        return "not known"
    return "same" if comparison.same_losses else "differ"


def difference(comparison: Comparison) -> str:
    """Where and by how much the losses differ, relative to those before; empty if they do not, or if unknown."""
    if comparison.same_losses is not False or comparison.differ_from is None:
        return ""
    by = f", by up to {100 * comparison.differ_by:.2g} %" if comparison.differ_by is not None else ""
    return f"from step {comparison.differ_from} on{by}"


def headline(report: BenchReport) -> Comparison | None:
    """The comparison of all fixes together; of the last fix if there is none; None if nothing was compared."""
    last = report.comparisons[-1] if report.comparisons else None
    return by_name(report).get(ALL_FIXES, last)


def by_name(report: BenchReport) -> dict[str, Comparison]:
    """The comparisons by variant."""
    return {comparison.variant: comparison for comparison in report.comparisons}


def quantile(values: Sequence[float], part: float) -> float:
    """The value below which a share ``part`` (0 to 1) of ``values`` lies, interpolated between neighbours.

    Raises ValueError if there are none.
    """
    if not values:
        raise ValueError("quantile of no values")
    ordered = sorted(values)
    at = part * (len(ordered) - 1)
    below = math.floor(at)
    above = ordered[min(below + 1, len(ordered) - 1)]
    return ordered[below] + (above - ordered[below]) * (at - below)
