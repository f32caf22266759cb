"""Files of evidence, ``evidence/<device>/<rule>.json``: what was measured, whole enough to work the ratio out again."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from perflint import catalogue
from perflint.bench.measure import as_text
from perflint.bench.results import BEFORE, BenchReport, Comparison, compare
from perflint.catalogue import DEVICES, Device
from tests.ips import cases, hashes
from tests.ips.hashes import Hashes
from tests.ips.places import PLACES

EVIDENCE = Path(__file__).resolve().parents[2] / "evidence"
DIGITS = 6
"""Decimals of what is summed up: the last bits of a float differ between machines."""

WRITTEN: list[Path] = []
"""The files that this process has written, for ``--out``."""

_ALWAYS = ("rule", "device", "environment")


@dataclass(frozen=True)
class Earlier:
    """A measurement that another one has taken the place of, or a script that was changed after it had been run.

    ``date``: when it was measured, in UTC; "" with figures that are None where nobody kept them.  ``changed``: what was
    changed since.  ``why``: why it was measured again.  ``commit``: the one that made the change, "" where that is the
    commit of this file.
    """

    date: str
    ratio: float | None
    low: float | None
    high: float | None
    changed: list[str]
    why: str
    commit: str = ""


@dataclass(frozen=True)
class Evidence:
    """The measurement of one rule on one device, and the variables of the environment that were set for it.

    ``hashes``: what it was taken of.  ``hashes_added``: how that is known, where the measurement is older than the
    hashes.  ``changed_since``: what has changed since, in words, where it has to be taken again.  ``load``: the average
    number of programs that wanted a core, in the minute before the first run and in the last one ([] where nobody
    looked).  ``earlier``: the measurements before it.
    """

    rule: str
    device: Device
    environment: dict[str, str]
    report: BenchReport
    hashes: Hashes | None = None
    hashes_added: str = ""
    changed_since: str = ""
    load: list[float] = field(default_factory=list)
    earlier: list[Earlier] = field(default_factory=list)

    def path(self, directory: Path = EVIDENCE) -> Path:
        """Where it is kept."""
        return directory / self.device / f"{self.rule}.json"

    def to_json(self) -> dict[str, Any]:
        """The evidence as ``json.dumps`` takes it."""
        data = {name: value for name, value in asdict(self).items() if name != "report"}
        return {
            **{name: value for name, value in data.items() if value or name in _ALWAYS},
            "report": self.report.to_json(),
        }

    def write(self, directory: Path = EVIDENCE, why: str = "") -> Path:
        """Write the file, and return where it is.  A measurement that is there already is kept among the earlier ones.

        Args:
            directory: where evidence is kept.
            why: what it is measured again for.
        """
        path = self.path(directory)
        known = read(path) if path.exists() else None
        write_whole(path, (replace(self, earlier=_and(known, self, why)) if known else self).to_json())
        return path


def _and(known: Evidence, new: Evidence, why: str) -> list[Earlier]:
    """The earlier measurements, and the one that a new one takes the place of."""
    if known.report.date == new.report.date:
        return known.earlier
    found = compared(known.report)
    if known.hashes and new.hashes:
        changed = hashes.changed(known.hashes, new.hashes)
    else:
        changed = ["nobody kept what it was measured of"]
    ratio, low, high = (round(each, DIGITS) for each in (found.ratio, found.low, found.high))
    return [*known.earlier, Earlier(known.report.date, ratio, low, high, changed, why or "nobody said why")]


def stale(evidence: Evidence) -> list[str]:
    """What is wrong with what a measurement was taken of: it has changed since, or nobody knows."""
    where = f"evidence/{evidence.device}/{evidence.rule}.json"
    stand_in = " --stand-in" if evidence.device.startswith("stand-in") else ""
    device = evidence.device.removeprefix("stand-in-")
    again = f"`python -m pytest -m ips --device {device}{stand_in} -k {evidence.rule}` measures it again"
    if evidence.hashes is None:
        return [f"{where} does not say what it was measured of (key `hashes`): {again}"]
    changed = hashes.changed(evidence.hashes, hashes.current(evidence.rule))
    if changed and not evidence.changed_since:
        return [f"{where}: {' and '.join(changed)} changed since the measurement: {again}"]
    if evidence.changed_since and not changed:
        return [f"{where} says that something has changed (key `changed_since`), and nothing has: take it out"]
    return []


def write_whole(path: Path, data: dict[str, Any]) -> None:
    """Write JSON with each list of numbers in a row."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(".part")
    beside.write_text(as_text(data), encoding="utf-8")
    beside.replace(path)
    WRITTEN.append(path)


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
    return Evidence(
        data["rule"],
        data["device"],
        data["environment"],
        BenchReport.from_json(data["report"]),
        hashes.as_hashes(data.get("hashes")),
        data.get("hashes_added", ""),
        data.get("changed_since", ""),
        data.get("load", []),
        [Earlier(**each) for each in data.get("earlier", [])],
    )


def compared(report: BenchReport) -> Comparison:
    """The comparison of a report of two variants, worked out from its steps.

    Raises:
        ValueError: the report does not hold two variants with runs that can be compared.
    """
    before, after = report.variants
    return compare(before.runs, after.runs, after.name)


def milliseconds_saved(report: BenchReport) -> tuple[float, float, float]:
    """By how many milliseconds a step is shorter in the second variant, with the ends of the interval.

    Raises:
        ValueError: the report does not hold two variants whose runs, and steps, can be compared.
    """
    found = compared(report)
    if found.saved_ms is None or found.saved_low is None or found.saved_high is None:
        raise ValueError("the two variants have not as many samples in a step")
    return found.saved_ms, found.saved_low, found.saved_high


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
