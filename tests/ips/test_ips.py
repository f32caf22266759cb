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
from perflint.bench.results import LEAST_ROUNDS
from perflint.bench.variants import VariantFiles
from perflint.catalogue import Device
from perflint.findings import Level
from tests.ips import cases, hashes, measuring, owed, summary, trials
from tests.ips.evidence import Evidence, problems
from tests.ips.places import Place
from tests.ips.trials import Trial

pytestmark = [pytest.mark.ips, pytest.mark.timeout(1800)]

PLANTED_MS = 0.5
"""Milliseconds by which a step is made longer: some 5 in 100 of one that keeps a card busy."""

WITH_THEMSELVES = ("PPF102", "PPF201", "PPF306", "PPF704")
"""Rules whose fixed scripts are compared with themselves, where they are measured: one with worker processes, one
without, and two that keep a card busy."""


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


@pytest.fixture
def rounds(request: pytest.FixtureRequest) -> int:
    """The rounds of a measurement.

    Raises:
        pytest.fail.Exception: they are too few to say anything.
    """
    found = int(request.config.getoption("--rounds"))
    if found < LEAST_ROUNDS:
        pytest.fail(f"--rounds {found}: at least {LEAST_ROUNDS} are needed for an interval")
    return found


def state(name: str, script: Path, text: str) -> VariantFiles:
    """A script with another text."""
    return VariantFiles(name, [], [], {Path(script.name): text.encode("utf-8")})


@pytest.mark.parametrize("code", sorted(catalogue.shipped()))
@pytest.mark.usefixtures("pages")
def test_fix_gains(code: str, place: Place, rounds: int, request: pytest.FixtureRequest) -> None:
    rule = catalogue.shipped()[code]
    if why := place.reason(code):
        pytest.skip(f"{code} is not measured here: {why}")
    case = cases.cases()[code]
    if place.device is None:
        check_losses(case, place)
        return
    before, of = trials.load(), hashes.current(code)
    report = measuring.measure_rule(case, place, rounds)
    evidence = Evidence(code, place.device, place.environment, report, of, load=[before, trials.load()])
    assert problems(evidence) == []
    evidence.write(why=request.config.getoption("--why"))  # whatever it shows: what gains nothing is told as well
    assert owed.claim(rule, summary.measurement(evidence)) == []


def check_losses(case: cases.Case, place: Place) -> None:
    """Both variants run where no figure means anything, and a safe fix leaves the losses as they are."""
    report = measuring.measure_rule(case, place, LEAST_ROUNDS)
    assert place.mislabelled(report) == []
    found = cases.findings(case.script.name, case.script.read_text(encoding="utf-8"), case.code)
    levels = {item.fix.level for item in found if item.code == case.code and item.fix is not None}
    if levels == {Level.SAFE}:
        assert report.comparisons[0].same_losses is True


@pytest.mark.parametrize("code", WITH_THEMSELVES)
@pytest.mark.usefixtures("pages")
def test_a_script_against_itself(code: str, measured: Place, rounds: int) -> None:
    if why := measured.reason(code):
        pytest.skip(f"{code} is not measured here: {why}")
    case = cases.cases()[code]
    text = cases.fixed(case)
    before = trials.load()
    report = measuring.measure(case.script, text, state("the same", case.script, text), measured, rounds)
    name, load = f"{code}-itself", [before, trials.load()]
    assert kept(Trial(name, device_of(measured), measured.environment, 0, report, load=load)) == []


@pytest.mark.usefixtures("pages")
def test_a_planted_cost_is_found_on_a_card(measured: Place, rounds: int) -> None:
    if measured.hardware != "gpu":
        pytest.skip("without a card, `python -m tests.ips.trials` plants costs into a loop that counts")
    script = cases.SCRIPTS / "host_and_card_planted.py"
    text = script.read_text(encoding="utf-8")
    longer = text.replace("\nEXTRA_MS = 0.0\n", f"\nEXTRA_MS = {PLANTED_MS}\n")
    assert longer != text
    before = trials.load()
    report = measuring.measure(script, text, state("longer", script, longer), measured, rounds)
    load = [before, trials.load()]
    trial = Trial("planted", device_of(measured), measured.environment, PLANTED_MS, report, load=load)
    assert kept(trial) == []


def device_of(measured: Place) -> Device:
    """The name under which figures are kept."""
    assert measured.device is not None, "the fixture skips where there is none"
    return measured.device


def kept(trial: Trial) -> list[str]:
    """Keep a trial, whatever it shows; what it got wrong."""
    trial.write()
    return trial.problems()
