"""Files of evidence, ``evidence/<device>/<rule>.json``: what was measured, whole enough to work the ratio out again."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perflint import catalogue
from perflint.bench.keeping import as_text
from perflint.bench.results import BEFORE, BenchReport, Comparison
from perflint.bench.statistics import compare
from perflint.measuring import DEVICES, Device
from tests.ips import cases
from tests.ips.places import PLACES

EVIDENCE = Path(__file__).resolve().parents[2] / "evidence"


@dataclass(frozen=True)
class Evidence:
    """The measurement of one rule on one device, and the variables of the environment that were set for it."""

    rule: str
    device: Device
    environment: dict[str, str]
    report: BenchReport

    def path(self, directory: Path = EVIDENCE) -> Path:
        """Where it is kept."""
        return directory / self.device / f"{self.rule}.json"

    def to_json(self) -> dict[str, Any]:
        """The evidence as ``json.dumps`` takes it."""
        return {**vars(self), "report": self.report.to_json()}

    def write(self, directory: Path = EVIDENCE) -> Path:
        """Write the file, and return where it is."""
        path = self.path(directory)
        write_whole(path, self.to_json())
        return path


def write_whole(path: Path, data: dict[str, Any]) -> None:
    """Write JSON with each list of numbers in a row."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(as_text(data), encoding="utf-8")


def committed(directory: Path = EVIDENCE) -> list[Path]:
    """The files of evidence that are kept."""
    return sorted(path for device in DEVICES for path in (directory / device).glob("*.json"))


def read(path: Path) -> Evidence:
    """The evidence in a file.

    Raises:
        KeyError: a field is missing.
        json.JSONDecodeError: it is no JSON.
    """
    data = json.loads(path.read_text(encoding="utf-8"))
    return Evidence(data["rule"], data["device"], data["environment"], BenchReport.from_json(data["report"]))


def compared(report: BenchReport) -> Comparison:
    """The comparison of a report of two variants, worked out from its steps.

    Raises:
        ValueError: the report does not hold two variants with runs that can be compared.
    """
    before, after = report.variants
    return compare(before.runs, after.runs, after.name)


def problems(evidence: Evidence) -> list[str]:
    """What keeps a measurement from being evidence, whatever it shows; an empty list where nothing does."""
    return _of_the_rule(evidence) or _of_the_runs(evidence) or misstated(evidence.report)


def misstated(report: BenchReport) -> list[str]:
    """What a report states about its two variants, and its steps do not give; last bits differ between Pythons."""
    stated, again = report.comparisons[0], compared(report)
    return [
        f"{name} is {getattr(stated, name)}, and {getattr(again, name)} from its steps"
        for name in ("ips_before", "ips_after", "ratio", "low", "high")
        if not math.isclose(getattr(stated, name), getattr(again, name), rel_tol=1e-9)
    ]


def _of_the_rule(evidence: Evidence) -> list[str]:
    if evidence.rule not in catalogue.shipped():
        return [f"{evidence.rule} is no rule"]
    if evidence.device not in PLACES:
        return [f"{evidence.device} is no device"]
    if why := PLACES[evidence.device].reason(evidence.rule):
        return [f"{evidence.rule} is not measured on the {evidence.device}: {why}"]
    case = cases.cases()[evidence.rule]
    if evidence.report.script != case.script.name:
        return [f"the script is {evidence.report.script}, not {case.script.name}"]
    return PLACES[evidence.device].mislabelled(evidence.report)


def _of_the_runs(evidence: Evidence) -> list[str]:
    report = evidence.report
    found = [f"{name} is missing" for name in ("machine", "versions", "date") if not getattr(report, name)]
    if [item.name for item in report.variants[:1]] != [BEFORE] or len(report.variants) != 2:
        return [*found, "there have to be two variants, the first of them the script before the fix"]
    if len(report.comparisons) != 1:
        found.append(f"there are {len(report.comparisons)} comparisons, not one")
    for variant in report.variants:
        if len(variant.runs) != report.rounds:
            found.append(f"{variant.name} has {len(variant.runs)} runs in {report.rounds} rounds")
        for run in variant.runs:
            lengths = {len(part) for part in (run.batch_s, run.reader_s, run.samples, run.losses)}
            if lengths != {report.steps}:
                found.append(f"{variant.name} has a run of {sorted(lengths)} steps instead of {report.steps}")
            if not all(time > 0 for time in run.batch_s):
                found.append(f"{variant.name} has a step that took no time")
            if not run.device.startswith(PLACES[evidence.device].hardware):
                found.append(f"{variant.name} ran on {run.device}")
    return found
