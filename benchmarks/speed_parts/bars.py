"""What perflint wants to be as fast as, and whether it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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


LARGE = 100_000
"""Lines from which on a tree is large enough for what a start costs not to count."""

FASTER, SLOWER = "{}× as fast", "{}× its time"
BARS = (
    Bar("cold_torchfix", "cold, against TorchFix", FASTER, 60, 100, higher=True),
    Bar("cold_flake8", "cold, against flake8 with pyflakes alone", FASTER, 8, 12, higher=True),
    Bar("cold_ruff", "cold, against Ruff without its cache", SLOWER, 15, 8),
    Bar("warm_ruff", "warm, nothing changed, against Ruff without its cache", SLOWER, 2, 1),
    Bar("dearest_line", "CPU time per line, the most expensive tree against the first", "{}× as much", 1.3, 1.1),
    Bar(
        "growth", "CPU time per line, the largest generated tree against one of 160,000 lines", "{}× as much", 1.2, 1.1
    ),
    Bar("all_cold", "many repositories, cold", "{} s", 14, 10),
    Bar("all_warm", "the same, warm", "{} s", 1.5, 0.8),
    Bar("all_peak", "the same, cold: peak memory of all processes", "{} MiB", 300, 200),
    Bar("near_empty", "41,000 near-empty files, cold", "{} s", 5, 2),
    Bar("edit", "one edit in a long trainer, to findings, in a running process", "{} ms", 60, 25),
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
        "dearest_line": _dearest_line(list(parts.get("trees", {}).values())),
        "growth": _growth(parts.get("scaling", {}).get("rows", [])),
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


def cost_of_lines(tree: Results) -> float | None:
    """CPU seconds of a cold check of a tree for each 1,000 lines; None where it was not measured."""
    costs = tree.get("costs", {})
    return 1000 * float(costs[COLD]["cpu"]) / float(tree["lines"]) if COLD in costs else None


def _dearest_line(trees: Sequence[Results]) -> float | None:
    """The most that a line of a tree costs, over a line of the first one; None where there are no others."""
    costs = [cost for tree in trees if (cost := cost_of_lines(tree)) is not None]
    return max(costs[1:]) / costs[0] if len(costs) > 1 else None


def _growth(rows: Sequence[Results]) -> float | None:
    """What a line of the largest made-up tree costs, over a line of the first that has 100,000 or more."""
    large = [float(row["cpu"]) / float(row["lines"]) for row in rows if row["lines"] >= LARGE]
    return large[-1] / large[0] if len(large) > 1 else None
