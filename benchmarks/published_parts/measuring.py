"""Measures the variants of a table by the engine of ``perflint bench``, and keeps what was measured."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perflint.bench.measure import Bench, as_text, rounded
from perflint.bench.results import BenchReport
from perflint.bench.script_run import Plan, RunFailed
from perflint.bench.variants import VariantFiles
from perflint.catalogue import Device
from published_parts.tables import SCRIPTS, Table

RESULTS = Path(__file__).resolve().parents[1] / "results"
_STAND_IN = Path(__file__).resolve().parents[2] / "tests" / "ips" / "stand_in"
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


@dataclass(frozen=True)
class Measured:
    """A table's measurement on one device: the variables that were set for it, and the report with all steps."""

    table: str
    device: Device
    environment: dict[str, str]
    report: BenchReport

    def to_json(self) -> dict[str, Any]:
        """The measurement as ``json.dumps`` takes it."""
        return {**vars(self), "report": self.report.to_json()}

    def write(self, directory: Path = RESULTS) -> Path:
        """Write the file, and return where it is."""
        path = place(self.table, self.device, directory)
        path.write_text(as_text(self.to_json()), encoding="utf-8")
        return path


def place(table: str, device: Device, directory: Path = RESULTS) -> Path:
    """Where the measurement of a table is kept."""
    return directory / f"published_{table}_{device}.json"


def read(path: Path) -> Measured:
    """The measurement in a file.

    Raises:
        KeyError: a field is missing.
        json.JSONDecodeError: it is no JSON.
    """
    data = json.loads(path.read_text(encoding="utf-8"))
    return Measured(data["table"], data["device"], data["environment"], BenchReport.from_json(data["report"]))


def run(table: Table, device: Device, rounds: int) -> Measured:
    """Measure a table.

    Args:
        table: which.
        device: where.
        rounds: how often each variant is run.

    Raises:
        perflint.bench.script_run.RunFailed: a run has not measured anything, or Paddle has chosen another device.
    """
    environment = _environment(device)
    plan = Plan(
        root=SCRIPTS,
        script=table.script.relative_to(SCRIPTS),
        directory=Path(),
        arguments=list(table.arguments.get(device, ())),
        python=sys.executable,
        warmup=table.warmup,
        steps=table.steps,
        environment=environment | _stand_in(device),
    )
    states = [VariantFiles(name, changed={plan.script: table.text(name).encode()}) for name in table.variants]
    report = Bench(plan).measure(states, rounds, _tell)
    found = report.variants[0].runs[0].device
    if not device.endswith(found.split(":")[0]):
        raise RunFailed(f"asked to measure on the {device}, but Paddle chose {found}")
    return Measured(table.name, device, environment, rounded(report))


def _environment(device: Device) -> dict[str, str]:
    """One thread for each library on the CPU, so that workers have a core to run on; no GPU is seen there."""
    return {**dict.fromkeys(_THREADS, "1"), "CUDA_VISIBLE_DEVICES": ""} if device == "cpu" else {}


def _stand_in(device: Device) -> dict[str, str]:
    if device != "stand-in-gpu":
        return {}
    if not _STAND_IN.is_dir():
        raise RunFailed(f"{_STAND_IN} is missing: the stand-in for Paddle")
    return {"PYTHONPATH": str(_STAND_IN)}


def _tell(done: int, runs: int, name: str) -> None:
    print(f"run {done + 1} of {runs}: {name}", file=sys.stderr)
