"""Trains the scripts of measured rules once more and compares their losses with those in the evidence.

python -m tests.ips.replay PPF202 PPF205

No time is measured, so that a busy machine spoils nothing.  The same losses from the same seeds say that today's
script, and today's fix, train what was measured then; processors may differ by the rounding of float32.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from perflint.bench.measure import Bench
from perflint.bench.results import BenchReport, Steps, largest_difference
from perflint.bench.variants import VariantFiles
from tests.ips import cases, evidence, measuring
from tests.ips.places import PLACES


def differences(code: str, report: BenchReport) -> list[float | None]:
    """The largest relative difference of a loss, before the fix and after it; None where it is not finite.

    Raises:
        perflint.bench.script_run.RunFailed: a script has not trained.
    """
    case = cases.cases()[code]
    text = case.script.read_text(encoding="utf-8")
    bench = Bench(measuring.plan(case.script, text, PLACES["cpu"]))
    states = [
        VariantFiles(name, [], [], {Path(case.script.name): each.encode("utf-8")})
        for name, each in (("before", text), ("after", cases.fixed(case)))
    ]
    return [
        _difference(bench.run(state).steps, variant.runs[0])
        for state, variant in zip(states, report.variants, strict=True)
    ]


def _difference(now: Steps, then: Steps) -> float | None:
    return largest_difference(then, [now]) if len(now.losses) == len(then.losses) else None


def main(codes: Sequence[str]) -> int:
    """Say for each rule how far the losses are from those that were measured."""
    for code in codes:
        report = evidence.read(evidence.EVIDENCE / "cpu" / f"{code}.json").report
        before, after = ("not comparable" if each is None else f"{each:.1e}" for each in differences(code, report))
        print(f"{code}: losses differ by at most {before} before the fix, {after} after it", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
