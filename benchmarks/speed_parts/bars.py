"""What perflint wants to be as fast as, and whether it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from speed_parts.tools import COLD, FLAKE8, RUFF, TORCHFIX, WARM

Results = Mapping[str, Any]


@dataclass(frozen=True)
class Bar:
    """One thing to measure.

    Attributes:
        key: Names it in the results.
        what: What is measured, in words.
        unit: Of the three numbers; ``{}`` stands for the number.
        bar: What has to be reached.
        goal: What would be better.
        higher: Whether more is better.
    """

    key: str
    what: str
    unit: str
    bar: float
    goal: float
    higher: bool = False

    def verdict(self, value: float | None) -> str:
        """``goal met``, ``met``, ``NOT MET`` or ``not measured``."""
        if value is None:
            return "not measured"
        return "goal met" if self._reaches(value, self.goal) else "met" if self._reaches(value, self.bar) else "NOT MET"

    def _reaches(self, value: float, bound: float) -> bool:
        return value >= bound if self.higher else value <= bound


FASTER, SLOWER = "{}× as fast", "{}× its time"
BARS = (
    Bar("cold_torchfix", "cold, against TorchFix", FASTER, 60, 100, higher=True),
    Bar("cold_flake8", "cold, against flake8 with pyflakes alone", FASTER, 8, 12, higher=True),
    Bar("cold_ruff", "cold, against Ruff without its cache", SLOWER, 15, 8),
    Bar("warm_ruff", "warm, nothing changed, against Ruff without its cache", SLOWER, 2, 1),
    Bar("all_cold", "many repositories as one project, cold", "{} s", 25, 12),
    Bar("all_warm", "the same, warm", "{} s", 1.5, 0.8),
    Bar("all_peak", "the same, cold: peak memory of all processes", "{} MiB", 500, 300),
    Bar("near_empty", "41,000 near-empty files, cold", "{} s", 5, 2),
    Bar("edit", "one edit in a long trainer, to findings, in a process that stays up", "{} ms", 60, 25),
    Bar("start", "`perflint --version` against `python -c pass`", SLOWER, 4, 2.5),
)


def measured(results: Results) -> dict[str, float | None]:
    """The value of each bar from the medians of a result file; None where a part of it is missing.

    The tree of the first four is the first that was named. Ratios are of the wall times of one sitting.
    """
    parts = results["parts"]
    first: Results = next(iter(parts.get("trees", {}).values()), {})
    tree = first.get("costs", {})
    whole, empty, start = (parts.get(name, {}).get("costs", {}) for name in ("all", "near_empty", "start"))
    return {
        "cold_torchfix": ratio(tree, TORCHFIX.title, COLD),
        "cold_flake8": ratio(tree, FLAKE8.title, COLD),
        "cold_ruff": ratio(tree, COLD, RUFF.title),
        "warm_ruff": ratio(tree, WARM, RUFF.title),
        "all_cold": whole.get(COLD, {}).get("wall"),
        "all_warm": whole.get(WARM, {}).get("wall"),
        "all_peak": whole.get(COLD, {}).get("peak"),
        "near_empty": empty.get(COLD, {}).get("wall"),
        "edit": parts.get("edit", {}).get("median_ms"),
        "start": ratio(start, "perflint --version", "python -c pass"),
    }


def ratio(costs: Results, above: str, below: str) -> float | None:
    """Median wall time of one over that of another; None where either is missing."""
    if above not in costs or below not in costs:
        return None
    return float(costs[above]["wall"]) / float(costs[below]["wall"])
