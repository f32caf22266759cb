"""Evidence: each file that is committed is whole and says what its steps say; one that is not is noticed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from perflint import catalogue
from perflint.bench.results import BEFORE, Report, Steps, Variant
from tests.ips import cases, evidence, reasons
from tests.ips.evidence import EVIDENCE, Evidence, compared, problems

COMMITTED = sorted(EVIDENCE.rglob("*.json"))
STEPS, ROUNDS = 9, 4


def run(seconds: float, device: str = "cpu") -> Steps:
    """A run whose steps take so long, some a little longer."""
    times = [seconds * (1 + step % 3 / 100) for step in range(STEPS)]
    return Steps(times, [0.0] * STEPS, [8] * STEPS, [1.0] * STEPS, 500.0, device)


def sample(after: float = 0.01) -> Evidence:
    """Evidence of steps of 20 ms before the fix and ``after`` seconds with it."""
    variants = [
        Variant(BEFORE, [], [], [run(0.02 + number / 10_000) for number in range(ROUNDS)]),
        Variant("PPF704 ppf704_collect.py:25", ["PPF704"], ["ppf704_collect.py:25"], [run(after)] * ROUNDS),
    ]
    script = cases.cases()["PPF704"].script.name
    versions = {"paddlepaddle": "3.3.1"}
    report = Report(script, [], "a machine", versions, "2026-01-01T00:00:00Z", 3, STEPS, ROUNDS, variants, [], [])
    return Evidence("PPF704", "cpu", {"OMP_NUM_THREADS": "1"}, replace(report, comparisons=[compared(report)]))


def changed(whole: Evidence, **fields: object) -> Evidence:
    """The same with other fields in its report."""
    return replace(whole, report=replace(whole.report, **fields))  # type: ignore[arg-type]


@pytest.mark.parametrize("path", COMMITTED, ids=[path.relative_to(EVIDENCE).as_posix() for path in COMMITTED])
def test_committed_evidence(path: Path) -> None:
    found = evidence.read(path)
    assert found.path() == path
    assert problems(found) == []


@pytest.mark.skipif(not COMMITTED, reason="nothing has been measured yet")
def test_each_rule_has_evidence_or_a_reason() -> None:
    measured = {path.stem for path in COMMITTED}
    without = sorted(code for code in set(catalogue.shipped()) - measured if not reasons.reason(code, "cpu"))
    assert not without, f"{without}: measure it (docs/measuring.md), or say why not in tests/ips/reasons.py"


def test_whole_evidence_survives_its_file(tmp_path: Path) -> None:
    whole = sample()
    assert problems(whole) == []
    path = whole.write(tmp_path)
    assert path == tmp_path / "cpu" / "PPF704.json"
    assert evidence.read(path) == whole


def test_evidence_without_a_field_is_refused(tmp_path: Path) -> None:
    path = sample().write(tmp_path)
    data = json.loads(path.read_text())
    del data["report"]["variants"][0]["runs"][0]["batch_s"]
    path.write_text(json.dumps(data))
    with pytest.raises(KeyError, match="batch_s"):
        evidence.read(path)


def test_a_ratio_that_its_steps_do_not_give() -> None:
    whole = sample()
    better = replace(whole.report.comparisons[0], ratio=2.5)
    (problem,) = problems(changed(whole, comparisons=[better]))
    assert problem.startswith("ratio is 2.5, and 2.0")


def test_no_gain() -> None:
    (problem,) = problems(sample(after=0.02015))
    assert problem.startswith("shows no gain")


def test_a_rule_that_the_device_cannot_show() -> None:
    (problem,) = problems(replace(sample(), rule="PPF201"))
    assert problem.startswith("PPF201 is not measured on the cpu: the gain is the wait for the GPU")


def test_a_rule_that_does_not_exist() -> None:
    assert problems(replace(sample(), rule="PPF999")) == ["PPF999 is no rule"]


def test_a_script_of_another_rule() -> None:
    (problem,) = problems(replace(sample(), rule="PPF705"))
    assert problem.startswith("the script is ppf704_")


def test_a_lost_run_and_a_lost_step() -> None:
    whole = sample()
    before, after = whole.report.variants
    lost = replace(after, runs=after.runs[1:])
    assert problems(changed(whole, variants=[before, lost])) == [f"{after.name} has 3 runs in 4 rounds"]
    short = replace(after.runs[0], losses=after.runs[0].losses[1:])
    lost = replace(after, runs=[short, *after.runs[1:]])
    assert problems(changed(whole, variants=[before, lost])) == [f"{after.name} has a run of [8, 9] steps instead of 9"]


def test_another_device_than_the_folder_says() -> None:
    whole = sample()
    found = problems(replace(whole, rule="PPF704", device="gpu"))
    assert found == [f"{item.name} ran on cpu" for item in whole.report.variants for _ in item.runs]


def test_nothing_said_about_the_machine() -> None:
    assert problems(changed(sample(), machine="", versions={})) == ["machine is missing", "versions is missing"]
