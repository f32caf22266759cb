"""Evidence: each file that is committed is whole and says what its steps say; one that is not is noticed."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from perflint import catalogue
from perflint.output.measured import Measured
from tests.evidence_samples import changed, sample
from tests.ips import busy_loop, cases, evidence, method, owed, remarks, summary, trials
from tests.ips.evidence import EVIDENCE, Evidence, problems
from tests.ips.places import PLACES
from tests.ips.trials import Trial

COMMITTED = evidence.committed()


@pytest.mark.parametrize("path", COMMITTED, ids=[path.relative_to(EVIDENCE).as_posix() for path in COMMITTED])
def test_committed_evidence(path: Path) -> None:
    found = evidence.read(path)
    assert found.path() == path
    assert problems(found) == []


@pytest.mark.parametrize("path", COMMITTED, ids=[path.relative_to(EVIDENCE).as_posix() for path in COMMITTED])
def test_committed_evidence_is_of_what_is_there_today(path: Path) -> None:
    assert evidence.stale(evidence.read(path)) == []


def test_the_method_is_the_one_that_is_described() -> None:
    assert method.unknown() == ""


TRIALS = list(trials.committed())


@pytest.mark.parametrize("trial", TRIALS, ids=lambda trial: f"{trial.device}/{trial.name}")
def test_committed_trials_say_what_their_steps_say(trial: Trial) -> None:
    assert evidence.misstated(trial.report) == []


def test_no_committed_trial_was_plainly_wrong() -> None:
    """One that cannot tell may be kept; of those that can, one in twenty may be wrong by chance."""
    wrong = [each.name for each in TRIALS for problem in each.problems() if trials.TOO_WIDE not in problem]
    assert len(wrong) <= max(1, len(TRIALS) // 20)


@pytest.mark.parametrize("path", COMMITTED, ids=[path.relative_to(EVIDENCE).as_posix() for path in COMMITTED])
def test_it_is_known_how_often_the_mistake_happens(path: Path) -> None:
    assert path.stem in remarks.EVENTS, "say in tests/ips/remarks.py how often it happens in a step of the script"


@cache
def committed() -> Measured:
    return summary.collect()


@pytest.mark.skipif(not COMMITTED, reason="nothing has been measured yet")
@pytest.mark.parametrize("code", sorted(catalogue.shipped()))
def test_each_rule_has_evidence_or_a_reason(code: str) -> None:
    assert owed.measurements(catalogue.shipped()[code], committed().get(code, {})) == []


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


def test_what_shows_no_gain_is_evidence_too() -> None:
    assert problems(sample(after=0.02015)) == []


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


def stood_in() -> Evidence:
    """Evidence of PPF201 that a stand-in has given, with its labels."""
    whole = changed(
        sample(device="stand-in-gpu"),
        script=cases.cases()["PPF201"].script.name,
        versions={"python": "3.11.7", "paddle": "stand-in on torch 2.13.0"},
    )
    return replace(whole, rule="PPF201", report=PLACES["stand-in-gpu"].labelled(whole.report))


def test_evidence_of_the_stand_in_is_labelled(tmp_path: Path) -> None:
    whole = stood_in()
    assert problems(whole) == []
    assert whole.report.versions == {"torch": "2.13.0", "python": "3.11.7"}
    assert "no measurement of Paddle" in whole.report.notes[0]
    assert whole.write(tmp_path) == tmp_path / "stand-in-gpu" / "PPF201.json"


def test_the_stand_in_does_not_pass_for_paddle() -> None:
    whole = replace(stood_in(), device="gpu")
    assert problems(whole) == ["it was measured with the stand-in"]
    unlabelled = changed(whole, versions={"paddle": "stand-in on torch 2.13.0"}, notes=[])
    assert problems(unlabelled) == ["it was measured with the stand-in"]


def test_paddle_does_not_pass_for_the_stand_in() -> None:
    assert problems(changed(stood_in(), notes=[])) == ["the notes do not tell of the stand-in"]
    for versions in ({"paddle": "3.3.1"}, {"paddle": "3.3.1", "torch": "2.13.0"}, {}):
        (problem,) = problems(changed(stood_in(), versions=versions))
        assert problem == f"the versions {versions} are not those of the stand-in"


def test_a_rule_that_the_stand_in_says_nothing_about() -> None:
    (problem,) = problems(sample(device="stand-in-gpu"))
    assert problem.startswith("PPF704 is not measured on the stand-in-gpu: the cost is Python's")


def test_nothing_said_about_the_machine() -> None:
    assert problems(changed(sample(), machine="", versions={})) == ["machine is missing", "versions is missing"]


def trial(planted_ms: float, after: float, part: float = 0.0) -> Trial:
    """Steps of about 20 ms against steps of ``after`` seconds."""
    return Trial("made up", "cpu", {}, planted_ms, sample(after).report, part)


@pytest.mark.parametrize(
    ("planted_ms", "after", "said"),
    [
        (0, 0.02015, []),
        (0, 0.01, ["of the same twice one is faster: 1.99"]),
        (20, 0.0402, []),
        (20, 0.0302, ["20 ms were planted, and 10."]),
        (-10, 0.01015, []),
        (-10, 0.0302, ["-10 ms were planted, and 10."]),
        (0.15, 0.0203, ["the interval is too wide to tell: -0.0"]),
    ],
)
def test_what_a_trial_got_wrong(planted_ms: float, after: float, said: list[str]) -> None:
    problems = trial(planted_ms, after).problems()
    assert len(problems) == len(said)
    assert all(problem.startswith(words) for problem, words in zip(problems, said, strict=True))


def test_a_cost_that_is_known_as_a_part_of_the_step() -> None:
    half = trial(0, 0.0302, 0.5)
    assert half.wanted_ms == pytest.approx(10.2, rel=0.02)
    assert half.problems() == []
    assert trial(0, 0.0302, 1.0).problems()[0].startswith("20.")


def of_itself(*ratios: float) -> Trial:
    """Rounds in which the second of the same two takes so many times as long."""
    whole = sample().report
    before, after = whole.variants
    longer = [
        replace(run, batch_s=[time * ratio for time in run.batch_s])
        for run, ratio in zip(before.runs, ratios, strict=True)
    ]
    report = replace(whole, variants=[before, replace(after, runs=longer)])
    return Trial("itself", "cpu", {}, 0, replace(report, comparisons=[evidence.compared(report)]))


def test_a_script_against_itself_has_to_be_told_apart_from_a_gain() -> None:
    assert of_itself(1.0, 1.01, 0.99, 1.0).problems() == []
    (problem,) = of_itself(0.9, 1.1, 0.9, 1.1).problems()  # low and high: 0.84 to 1.19
    assert problem.startswith("the interval is too wide to tell: 0.8")


def test_a_trial_survives_its_file(tmp_path: Path) -> None:
    whole = trial(0, 0.02015)
    whole.write(tmp_path)
    assert list(trials.committed(tmp_path)) == [whole]
    assert whole.path(tmp_path) == tmp_path / "trials" / "cpu" / "made up.json"
    other = replace(whole.report.comparisons[0], ratio=2.5)
    (problem,) = replace(whole, report=replace(whole.report, comparisons=[other])).problems()
    assert problem.startswith("ratio is 2.5, and 0.99")


def test_a_trial_replaces_none(tmp_path: Path) -> None:
    for _ in range(3):
        trial(0, 0.01).write(tmp_path)
    assert [each.name for each in trials.committed(tmp_path)] == ["made up", "made up-2", "made up-3"]


def test_a_trial_is_written_before_it_is_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trials, "PLANTED", {"wrong": 1.0})
    monkeypatch.setattr(busy_loop, "work", lambda: 1)
    monkeypatch.setattr(busy_loop, "measure", lambda *_: sample().report)
    (problem,) = trials.run(4, tmp_path)
    assert problem.startswith("wrong: of the same twice one is faster")
    assert [each.name for each in trials.committed(tmp_path)] == ["wrong"]
