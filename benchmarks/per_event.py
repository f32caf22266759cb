"""What one event costs: the milliseconds that the fix of a rule saves, for each time that the mistake happens.

    python benchmarks/per_event.py

It is worked out again from the measured steps in ``evidence/cpu`` (docs/measuring.md says how those were taken), so it
holds for the CPU and the sizes of those scripts.  ``rules/events.yaml`` cites the figures.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

from record import write

EVIDENCE = Path(__file__).resolve().parents[1] / "evidence" / "cpu"
PER_STEP = {
    "PPF101": 1.0,  # a batch
    "PPF102": 1.0,  # a batch
    "PPF107": 1.0,  # a loader
    "PPF202": 1.0,  # a print
    "PPF205": 13.0,  # two weights for each of six levels, and the first zero
    "PPF208": 1.0,  # an update of the metric
    "PPF209": 16.0,  # the masks of 32 images after each second step
    "PPF401": 1.0,  # a save
    "PPF405": 1.0,  # a line
    "PPF601": 8.0,  # 16 batches of validation after each second step
    "PPF704": 1.0,  # a search
}
"""How often the mistake happens in a step of the rule's script in ``tests/ips/scripts``."""


def milliseconds(report: Mapping[str, Any]) -> float:
    """What the fix saves in a step, by the mean of all measured steps."""
    before, after = (fmean(_steps(variant)) for variant in report["variants"])
    return (before - after) * 1000


def _steps(variant: Mapping[str, Any]) -> list[float]:
    return [seconds for run in variant["runs"] for seconds in run["batch_s"]]


def main() -> None:
    found = {}
    for code, count in PER_STEP.items():
        evidence = json.loads((EVIDENCE / f"{code}.json").read_text(encoding="utf-8"))
        found[code] = milliseconds(evidence["report"]) / count
    write({"milliseconds_per_event": found})


if __name__ == "__main__":
    main()
