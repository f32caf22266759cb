"""Measures what each rule's fix gains, and whether the measurement can be trusted (docs/measuring.md).

python -m pytest -m ips --device cpu
python -m pytest tests/ips -m ips --device gpu --stand-in
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from perflint import catalogue
from perflint.bench.statistics import LEAST_ROUNDS
from perflint.bench.variants import VariantFiles
from perflint.findings import Level
from perflint.measuring import Device
from tests.ips import cases, measuring, owed, summary
from tests.ips.evidence import Evidence, problems
from tests.ips.places import Place
from tests.ips.trials import Trial

pytestmark = [pytest.mark.ips, pytest.mark.timeout(1800)]

PLANTED = 0.05
"""Seconds by which the loader is slowed down: several times what a batch of it takes."""

WITH_THEMSELVES = ("PPF102", "PPF704")
"""Rules whose fixed scripts are compared with themselves: one with worker processes, one without."""


@pytest.fixture(scope="session")
def place(request: pytest.FixtureRequest) -> Place:
    """Where to measure; one measurement at a time.

    Raises:
        pytest.fail.Exception: pytest runs several tests at once.
        pytest.skip.Exception: the stand-in lacks something here.
    """
    if os.environ.get("PYTEST_XDIST_WORKER"):
        pytest.fail("measurements disturb each other: run pytest without -n")
    chosen = Place(request.config.getoption("--device"), request.config.getoption("--stand-in"))
    if why := chosen.missing():
        pytest.skip(why)
    return chosen


@pytest.fixture
def measured(place: Place) -> Place:
    """The same, where figures mean something.

    Raises:
        pytest.skip.Exception: they do not.
    """
    if place.device is None:
        pytest.skip("the figures of the stand-in on a CPU are no evidence for anything")
    return place


@pytest.fixture(scope="session")
def pages() -> Iterator[None]:
    """Bring the rules' pages up to date, once all is measured."""
    yield
    summary.write()


def state(name: str, script: Path, text: str) -> VariantFiles:
    """A script with another text."""
    return VariantFiles(name, [], [], {Path(script.name): text.encode("utf-8")})


@pytest.mark.parametrize("code", sorted(catalogue.shipped()))
@pytest.mark.usefixtures("pages")
def test_fix_gains(code: str, place: Place) -> None:
    rule = catalogue.shipped()[code]
    if why := place.reason(code):
        pytest.skip(f"{code} is not measured here: {why}")
    case = cases.cases()[code]
    if place.device is None:
        check_losses(case, place)
        return
    report = measuring.measure_rule(case, place)
    evidence = Evidence(code, place.device, place.environment, report)
    assert problems(evidence) == []
    evidence.write()  # whatever it shows: what gains nothing is told as well
    assert owed.claim(rule, summary.measurement(evidence)) == []


def check_losses(case: cases.Case, place: Place) -> None:
    """Both variants run where no figure means anything, and a safe fix leaves the losses as they are."""
    report = measuring.measure_rule(case, place, LEAST_ROUNDS)
    assert place.mislabelled(report) == []
    found = cases.findings(case.script.name, case.script.read_text(encoding="utf-8"))
    levels = {item.fix.level for item in found if item.code == case.code and item.fix is not None}
    if levels == {Level.SAFE}:
        assert report.comparisons[0].same_losses is True


@pytest.mark.parametrize("code", WITH_THEMSELVES)
@pytest.mark.usefixtures("pages")
def test_a_script_against_itself(code: str, measured: Place) -> None:
    if why := measured.reason(code):
        pytest.skip(f"{code} is not measured here: {why}")
    case = cases.cases()[code]
    text = cases.fixed(case)
    report = measuring.measure(case.script, text, state("the same", case.script, text), measured)
    check(Trial(f"{code}-itself", device_of(measured), measured.environment, 0, report))


@pytest.mark.usefixtures("pages")
def test_a_planted_cost_is_found(measured: Place) -> None:
    if measured.stand_in:
        pytest.skip("the cost is planted into Paddle's loader, and the stand-in has one of its own")
    script = cases.SCRIPTS / "planted.py"
    text = script.read_text(encoding="utf-8")
    slower = text.replace("\nEXTRA = 0.0\n", f"\nEXTRA = {PLANTED}\n")
    assert slower != text
    report = measuring.measure(script, text, state("slower", script, slower), measured)
    check(Trial("planted", device_of(measured), measured.environment, 1000 * PLANTED, report))


def device_of(measured: Place) -> Device:
    """The name under which figures are kept."""
    assert measured.device is not None, "the fixture skips where there is none"
    return measured.device


def check(trial: Trial) -> None:
    """Keep a trial that tells the truth."""
    assert trial.problems() == []
    trial.write()
