"""What a profile names in four scripts as a user would write them, each with three mistakes; with the real Paddle."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from perflint.bench.measure import Bench
from perflint.bench.results import BEFORE
from perflint.bench.script_run import Outcome, Plan
from perflint.bench.variants import VariantFiles
from perflint.profile.profile_report import ProfileReport, summed_up

SCRIPTS = Path(__file__).parent / "profile_scripts"


def planned(name: str, script: str, *arguments: str) -> Plan:
    return Plan(SCRIPTS / name, Path(script), Path(), [*arguments], sys.executable, 2, 10, profile=True)


def ran(plan: Plan) -> Outcome:
    return Bench(plan, 300).run(VariantFiles(BEFORE))


def profiled(name: str, script: str, *arguments: str) -> ProfileReport:
    plan = planned(name, script, *arguments)
    return summed_up(plan, ran(plan))


def mistakes(name: str) -> dict[str, str]:
    """The places of the mistakes in a script, by their number."""
    found = {}
    for file in (SCRIPTS / name).glob("*.py"):
        for row, line in enumerate(file.read_text().splitlines(), 1):
            if "# mistake" in line:
                found[line.split("# mistake ")[1][0]] = f"{file.name}:{row}"
    assert sorted(found) == ["1", "2", "3"]
    return found


def named(report: ProfileReport, kind: str) -> dict[str, float]:
    """The places of what was seen of a kind, and how often a step."""
    return {event.place: event.times for event in report.events if event.kind == kind}


def test_a_network_that_fit_trains() -> None:
    report, at = profiled("fit_cnn", "train.py"), mistakes("fit_cnn")
    assert named(report, "reader") == {at["1"]: 1}
    assert any(event.note.startswith("0 workers") for event in report.events if event.kind == "reader")
    assert named(report, "read")[at["2"]] == 6
    assert named(report, "save") == {at["3"]: pytest.approx(0.2)}
    assert {event.via for event in report.events if event.kind == "backward"} == {"paddle.hapi.model.fit"}


def test_a_language_model_with_helpers_in_another_file() -> None:
    report, at = profiled("language_model", "pretrain.py", "--length", "8"), mistakes("language_model")
    assert named(report, "copy") == {at["1"]: 3}
    assert named(report, "read")[at["2"]] == 1 + 3 * 16 + 2  # parameters: of the words, three blocks, the head
    assert (named(report, "log")[at["3"]], named(report, "read")[at["3"]]) == (1, 1)
    assert set(report.files) == {"pretrain.py", "model.py"}


def test_a_detector_with_a_file_of_yaml() -> None:
    report, at = profiled("detection", "train.py", "-c", "config.yml"), mistakes("detection")
    reader = next(event for event in report.events if event.kind == "reader")
    assert reader.note == f"0 workers, made at {at['1']}"
    assert named(report, "sized") == {at["2"]: 1}
    assert named(report, "save") == {at["3"]: pytest.approx(0.2)}


def test_a_static_graph() -> None:
    plan, at = planned("static_graph", "train.py"), mistakes("static_graph")
    outcome = ran(plan)
    assert outcome.profile is not None
    # Which rows are seen to run is chance: on a busy machine all looks may be at the row after the first mistake.
    # Without any look the line that runs before it is named.
    report = summed_up(plan, replace(outcome, profile={**outcome.profile, "sampled": []}))
    assert at["2"] in {event.place for event in report.events if event.kind == "other"}
    lines = (SCRIPTS / "static_graph" / "train.py").read_text().splitlines()
    steps = next(row for row, line in enumerate(lines, 1) if line.startswith("for step"))
    helper = next(row for row, line in enumerate(lines, 1) if line.startswith("def augment"))
    seen = {(path, row) for _, _, path, row, _ in outcome.profile["sampled"]}
    assert seen <= {("train.py", row) for row in (*range(helper, helper + 4), *range(steps, len(lines) + 1))}
    assert named(report, "log") == {at["2"]: 1}
    assert named(report, "save") == {at["3"]: pytest.approx(0.2)}
    (graph,) = (event for event in report.events if event.what == "Executor.run")
    assert (graph.kind, graph.times) == ("forward", 1)
    assert report.ips * report.step_ms.mean / 1000 == pytest.approx(32, rel=0.01)  # samples a step
