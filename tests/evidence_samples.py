"""Made-up evidence: what a measurement of PPF704 might have been."""

from __future__ import annotations

from dataclasses import replace

from perflint.bench.results import BEFORE, BenchReport, Steps, Variant
from perflint.catalogue import PADDLE_DEVICES, Device
from tests.ips import cases
from tests.ips.evidence import Evidence, compared

STEPS, ROUNDS = 9, 4
CODE = "PPF704"


def run(seconds: float, device: str = "cpu") -> Steps:
    """A run whose steps take so long, some a little longer."""
    times = [seconds * (1 + step % 3 / 100) for step in range(STEPS)]
    return Steps(times, [0.0] * STEPS, [8] * STEPS, [1.0] * STEPS, 500.0, device)


def sample(after: float = 0.01, device: Device = "cpu") -> Evidence:
    """Evidence of steps of 20 ms before the fix and ``after`` seconds with it."""
    place = device.removeprefix("stand-in-")
    variants = [
        Variant(BEFORE, [], [], [run(0.02 + number / 10_000, place) for number in range(ROUNDS)]),
        Variant("PPF704 ppf704_collect.py:25", [CODE], ["ppf704_collect.py:25"], [run(after, place)] * ROUNDS),
    ]
    script = cases.cases()[CODE].script.name
    versions = {"paddle": "3.3.1"} if device in PADDLE_DEVICES else {"torch": "2.9.0"}
    machine = f"made-up {place}"
    report = BenchReport(script, [], machine, versions, "2026-01-02T03:04:05Z", 3, STEPS, ROUNDS, variants, [], [])
    return Evidence(CODE, device, {"OMP_NUM_THREADS": "1"}, replace(report, comparisons=[compared(report)]))


def changed(whole: Evidence, **fields: object) -> Evidence:
    """The same with other fields in its report."""
    return replace(whole, report=replace(whole.report, **fields))  # type: ignore[arg-type]  # the callers name fields
