"""Measures what each rule's fix gains, and whether the measurement can be trusted (docs/measuring.md).

python -m pytest -m ips --device cpu
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Iterator
from pathlib import Path

import pytest

from perflint import catalogue
from perflint.bench.variants import State
from perflint.measuring import Device
from tests.ips import cases, measuring, owed, summary
from tests.ips.evidence import problems

pytestmark = [pytest.mark.ips, pytest.mark.timeout(1800)]

PLANTED = 0.05
"""Seconds by which the loader is slowed down: several times what a batch of it takes."""

QUIETEST = "PPF704"
"""The rule whose fixed script does the same work at each step, for the comparison with itself."""


@pytest.fixture(scope="session")
def device(request: pytest.FixtureRequest) -> Device:
    """The device to measure on; one measurement at a time.

    Raises:
        pytest.fail.Exception: pytest runs several tests at once.
    """
    if os.environ.get("PYTEST_XDIST_WORKER"):
        pytest.fail("measurements disturb each other: run pytest without -n")
    chosen: Device = request.config.getoption("--device")
    return chosen


@pytest.fixture(scope="session")
def pages() -> Iterator[None]:
    """Bring the rules' pages up to date, once all is measured."""
    yield
    summary.write()


def state(name: str, script: Path, text: str) -> State:
    """A script with another text."""
    return State(name, [], [], {Path(script.name): text.encode("utf-8")})


@pytest.mark.parametrize("code", sorted(catalogue.shipped()))
@pytest.mark.usefixtures("pages")
def test_fix_gains(code: str, device: Device, tmp_path: Path) -> None:
    rule = catalogue.shipped()[code]
    if why := rule.measuring.why_not(device):
        pytest.skip(f"{code} on the {device}: {why}")
    evidence = measuring.measure_rule(cases.cases()[code], device, tmp_path)
    assert problems(evidence) == []
    evidence.write()  # whatever it shows: what gains nothing is told as well
    assert owed.claim(rule, summary.measurement(evidence)) == []


def test_a_script_against_itself(device: Device, tmp_path: Path) -> None:
    case = cases.cases()[QUIETEST]
    text = cases.fixed(case)
    report = measuring.measure(case.script, text, state("the same", case.script, text), device, tmp_path)
    (found,) = report.comparisons
    assert found.low <= 1 <= found.high, found


def test_a_planted_cost_is_found(device: Device, tmp_path: Path) -> None:
    script = cases.SCRIPTS / "planted.py"
    text = script.read_text(encoding="utf-8")
    slower = text.replace("\nEXTRA = 0.0\n", f"\nEXTRA = {PLANTED}\n")
    assert slower != text
    report = measuring.measure(script, text, state("slower", script, slower), device, tmp_path)
    before, after = (
        statistics.fmean(statistics.median(step) for step in zip(*(run.batch_s for run in variant.runs), strict=True))
        for variant in report.variants
    )
    assert after - before == pytest.approx(PLANTED, rel=0.1)
    assert report.comparisons[0].high < 1
