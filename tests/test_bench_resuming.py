"""A measurement that goes on where an earlier one has stopped."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from perflint.bench import measure, script_run
from perflint.bench.measure import Bench
from perflint.bench.results import BEFORE, BenchReport, Steps
from perflint.bench.script_run import Outcome, Plan, RunFailed
from perflint.bench.variants import VariantFiles
from tests.bench_reports import run

STATES = [VariantFiles(BEFORE), VariantFiles("all fixes", ["PPF201"], [], {Path("train.py"): b"fixed"})]


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    root = tmp_path / "project"
    root.mkdir()
    (root / "train.py").write_text("as it is")
    (root / "data.py").write_text("as it is")
    return Plan(root, Path("train.py"), Path(), ["--epochs", "2"], sys.executable, warmup=2, steps=4)


def outcome(steps: Steps) -> Outcome:
    return Outcome(steps, {"paddle": "3.3.1"}, "2 cores", ["data.py"], 1.0)


class Runs:
    """Stands for the script: each run takes longer than the one before, and one can be told to fail."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, fails: int = 0) -> None:
        self.count, self.fails = 0, fails
        monkeypatch.setattr(script_run, "run", self)

    def __call__(self, *_: object) -> Outcome:
        self.count += 1
        if self.count == self.fails:
            raise RunFailed("out of memory")
        return outcome(run([self.count / 10] * 4))


def begun(plan: Plan, rounds: int) -> BenchReport:
    """What ``--json`` holds after so many rounds of a measurement."""
    found: list[BenchReport] = []
    Bench(plan).measure(STATES, 3, keep=found.append)
    conditions = measure.conditions(plan, STATES, outcome(run([0.1])))
    data = json.loads(json.dumps(replace(found[rounds - 1], conditions=conditions).to_json()))
    return BenchReport.from_json(data)


def test_only_what_is_missing_is_run(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two rounds of before, after, after, before are there; the next begins with before again."""
    Runs(monkeypatch)
    earlier = begun(plan, 2)
    assert earlier.comparisons == []
    runs, told = Runs(monkeypatch), list[tuple[int, int, str]]()
    report = Bench(plan).measure(STATES, 4, lambda *now: told.append(now), earlier=earlier)
    assert (runs.count, report.rounds) == (4, 4)
    assert [variant.runs[:2] for variant in report.variants] == [variant.runs for variant in earlier.variants]
    assert [round(each.batch_s[0], 1) for each in report.variants[0].runs] == [0.1, 0.4, 0.1, 0.4]
    assert told == [(0, 4, BEFORE), (1, 4, "all fixes"), (2, 4, "all fixes"), (3, 4, BEFORE)]
    assert (report.machine, report.versions["paddle"]) == ("2 cores", "3.3.1")


def test_a_finished_one_is_compared_again_without_a_run(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    Runs(monkeypatch)
    earlier = begun(plan, 3)
    runs = Runs(monkeypatch)
    report = Bench(plan).measure(STATES, 3, earlier=earlier)
    assert (runs.count, report.comparisons) == (0, earlier.comparisons)


def test_what_has_failed_is_not_tried_again(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    states = [*STATES, VariantFiles("PPF101 train.py:1", ["PPF101"], [], {Path("train.py"): b"other"})]
    Runs(monkeypatch, fails=3)
    found: list[BenchReport] = []
    Bench(plan).measure(states, 3, keep=found.append)
    runs = Runs(monkeypatch)
    report = Bench(plan).measure(states, 3, earlier=found[0])
    assert runs.count == 4
    assert [variant.name for variant in report.variants] == [BEFORE, "all fixes"]
    assert report.notes == ["Left out: with PPF101 train.py:1: out of memory"]


def test_other_conditions_are_refused_by_name(plan: Plan, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    Runs(monkeypatch)
    file = tmp_path / "report.json"
    file.write_text(json.dumps(begun(plan, 1).to_json()))
    first = outcome(run([0.1]))
    assert measure.read_measurement(file, measure.conditions(plan, STATES, first)).rounds == 1
    monkeypatch.setenv("FLAGS_use_mkldnn", "1")
    (plan.root / "data.py").write_text("changed")
    states = [STATES[0], replace(STATES[1], changed={Path("train.py"): b"fixed otherwise"}), VariantFiles("PPF101")]
    other = replace(first, versions={"paddle": "3.4.0"})
    with pytest.raises(RunFailed) as caught:
        measure.read_measurement(file, measure.conditions(replace(plan, steps=5, arguments=[]), states, other))
    assert str(caught.value) == (
        f"--resume {file}: it was measured under other conditions: "
        "arguments was --epochs 2 then and is not set now; --steps was 4 then and is 5 now; "
        "paddle was 3.3.1 then and is 3.4.0 now; data.py is not the same as then; "
        "variant all fixes is not the same as then; FLAGS_use_mkldnn was not set then and is 1 now; "
        "variant PPF101 was not there then"
    )


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", '{"variants": 1}'])
def test_other_files_are_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "other.json"
    file.write_text(text)
    with pytest.raises(RunFailed, match="this file was not written by perflint bench --json"):
        measure.read_measurement(file, {})


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(RunFailed, match="No such file"):
        measure.read_measurement(tmp_path / "none.json", {})
