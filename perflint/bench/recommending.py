"""Recommends a value of a tuned argument: the smallest one that no other value is surely faster than."""

from __future__ import annotations

from dataclasses import dataclass

from perflint.bench.figures import by_name, interval, ratio
from perflint.bench.results import BEFORE, BenchReport, Comparison, Variant
from perflint.bench.statistics import compare
from perflint.bench.tuning import Tuned

_COSTLY = frozenset({"num_workers", "prefetch_factor", "batch_size"})
"""Arguments whose smallest equally fast value is best: workers and batches take memory."""
_WHAT = {"num_workers": "workers"}


@dataclass(frozen=True)
class TunedPoint:
    """One value: its variant, and its comparison with the unchanged script (None for the unchanged script)."""

    value: int | bool | None
    variant: Variant
    comparison: Comparison | None

    @property
    def ratio(self) -> float:
        """Its ips divided by those of the unchanged script."""
        return self.comparison.ratio if self.comparison is not None else 1.0


@dataclass(frozen=True)
class Recommendation:
    """The recommended value; ``keep``: the script's own value. ``as_good``: others that are not surely slower."""

    value: int | bool | None
    keep: bool
    as_good: list[int | bool | None]


def points(report: BenchReport, tuned: Tuned) -> list[TunedPoint]:
    """The measured values in order, including that of the script, which comes first if it is not known."""
    compared = by_name(report)
    found = []
    for variant in report.variants:
        value = _value_of(variant, tuned)
        found.append(TunedPoint(value, variant, compared.get(variant.name)))
    return sorted(found, key=lambda point: -1 if point.value is None else point.value)


def recommendation(report: BenchReport, tuned: Tuned) -> Recommendation:
    """The value to recommend.

    Only a value that is surely faster than the script's own can replace it. Among the fastest of these and those that
    it is not surely faster than, the smallest is chosen if that saves memory, otherwise the fastest.
    """
    measured = points(report, tuned)
    current = next(point for point in measured if point.comparison is None)
    faster = [point for point in measured if point.comparison is not None and point.comparison.low > 1]
    fastest = max(faster or [current], key=lambda point: point.ratio)
    as_good = [point for point in measured if point is fastest or _may_be_as_good(point, fastest, report.pilot)]
    best = next(point for point in as_good if point in (faster or [current])) if _is_costly(tuned) else fastest
    return Recommendation(best.value, best is current, [point.value for point in as_good if point is not best])


def _may_be_as_good(point: TunedPoint, fastest: TunedPoint, pilot: int) -> bool:
    """Whether the fastest value is not surely faster than another one."""
    return compare(point.variant.runs, fastest.variant.runs, pilot=pilot).low <= 1


def _is_costly(tuned: Tuned) -> bool:
    return tuned.wanted.name in _COSTLY


def said(report: BenchReport, tuned: Tuned) -> list[str]:
    """The recommendation in sentences, with notes about it."""
    found = recommendation(report, tuned)
    name, has = tuned.wanted.name, tuned.written or tuned.value
    lines = [_advice(report, tuned, found, has)]
    if name == "batch_size":
        lines.append(
            "Another batch_size changes the training: it makes more or fewer updates, and may need another learning "
            "rate. ips counts samples, so the sizes can be compared by it."
        )
    if name == "num_workers" and any(item.same_losses is False for item in report.comparisons):
        lines.append("Workers draw their own random numbers, so losses are expected to differ.")
    if len(tuned.states) > 2 and not found.keep:
        lines.append(
            f"The best of {len(tuned.states)} looks a little better than it is, since luck helped to pick it: "
            f"--tune {name}={found.value} measures it alone."
        )
    return lines


def _advice(report: BenchReport, tuned: Tuned, found: Recommendation, has: object) -> str:
    name = tuned.wanted.name
    if found.keep:
        return f"Recommended: keep {name}={has} ({tuned.place}): no other value that was measured is surely faster."
    comparison = by_name(report)[tuned.name(found.value if found.value is not None else 0)]
    unit = f" {_WHAT[name]}" if name in _WHAT else ""
    value = f"{found.value}{unit}" if unit else f"{name}={found.value}"
    gain = f"{ratio(comparison)}x ({interval(comparison)}) of the ips with {name}={has} at {tuned.place}"
    more = [str(each) for each in found.as_good if each is not None and _is_more(each, found.value)]
    others = f"; {_listed(more)} {'is' if len(more) == 1 else 'are'} not surely faster" if more else ""
    # Only the user can decide on another batch size.
    return f"{'Fastest' if name == 'batch_size' else 'Recommended'}: {value}: {gain}{others}."


def _is_more(one: int | bool, other: int | bool | None) -> bool:
    return other is None or one > other or isinstance(one, bool)


def _listed(items: list[str]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


def _value_of(variant: Variant, tuned: Tuned) -> int | bool | None:
    if variant.name == BEFORE:
        return tuned.value
    return next(value for value in tuned.wanted.values if tuned.name(value) == variant.name)
