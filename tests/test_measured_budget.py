"""``perflint profile --budget``: what a run did at each step, against budgets and sync-free comments."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from perflint.configuration.settings import Settings
from perflint.profile.measured_budget import MeasuredBudget, budget_lines, measured_budget
from perflint.profile.profile_report import ProfileEvent
from perflint.text.source import Source
from tests.profile_reports import event
from tests.profile_reports import profile as report_of
from tests.support import in_step, sources
from tests.test_bench_command import project
from tests.test_profile_command import PLANTED, profile, row_of

ROOT = Path("/project")
FREE = "  # perflint: sync-free"


def measured(text: str, events: Sequence[ProfileEvent], budget: object = (), **files: str) -> MeasuredBudget:
    """A run of ``train.py`` with these events, and those of a loop."""
    settings = Settings(budget=dict(budget), root=ROOT)  # type: ignore[call-overload]
    texts = {"train.py": text, **{f"{name}.py": each for name, each in files.items()}}
    read = {str(ROOT / path): replace(each, path=str(ROOT / path)) for path, each in sources(texts).items()}
    assert all(isinstance(each, Source) for each in read.values())
    report = report_of(events=[event("train.py", 9, "backward", 1.0), *events])
    return measured_budget(report, ROOT, read, settings)


def test_calls_of_a_step_are_counted() -> None:
    text = in_step("for p in x:\n    a = p.numpy()\nb = loss.item()\n")
    events = [event("train.py", 13, "read", 0.1, times=51.0), event("train.py", 14, "read", 0.1)]
    found = measured(text, events, {"waits": 2, "logs": 0})
    assert [(each.name, each.count, each.limit, each.is_exceeded) for each in found.measured] == [
        ("waits", 52.0, 2, True),
        ("logs", 0, 0, False),
    ]
    assert found.is_exceeded
    assert found.missed == ()


def test_kinds_of_a_profile() -> None:
    kinds = ("read", "sized", "wait", "copy", "log", "save", "forward", "reader", "other")
    events = [event("train.py", 12, kind, 0.1) for kind in kinds]
    found = measured(in_step("pass\n"), events, dict.fromkeys(("waits", "copies", "logs", "saves"), 0))
    assert {each.name: each.count for each in found.measured} == {"waits": 4, "copies": 1, "logs": 1, "saves": 1}


def test_what_happens_at_fewer_steps_and_in_an_evaluation_is_free() -> None:
    events = [event("train.py", 12, "log", 0.1, times=0.1), event("train.py", 12, "read", 0.1, evaluating=True)]
    found = measured(in_step("pass\n"), events, {"waits": 0, "logs": 0})
    assert not found.is_exceeded
    assert found.missed == ()


def test_lines_that_the_static_trace_does_not_know() -> None:
    text = in_step("a = loss.item()\nb = strange(loss)\n")
    found = measured(text, [event("train.py", 12, "read", 0.1), event("train.py", 13, "read", 0.1)], {"waits": 2})
    assert [each.place for each in found.missed] == ["train.py:13"]
    assert not found.is_exceeded
    lines = [*budget_lines(found)]
    assert lines[0] == "Budget: 2 waits for the device a step, 2 allowed."
    assert lines[1] == "The static trace (perflint step) does not know that each step does this:"
    assert lines[2].startswith("  train.py:13  what  1 a step")


def test_collectives_are_not_recorded() -> None:
    found = measured(in_step("pass\n"), [], {"collectives": 0})
    assert (found.measured, found.unmeasured) == ((), ("collectives",))
    assert "are not recorded in a profile" in next(budget_lines(found))


def test_a_loop_that_is_called_sync_free() -> None:
    text = in_step("pass\n").replace("enumerate(loader):", f"enumerate(loader):{FREE}")
    (one,) = measured(text, [event("helper.py", 3, "read", 0.1)]).measured
    assert (one.claim, one.limit, one.count) == ("train.py:7, loop", 0, 1.0)
    (one,) = measured(text, []).measured
    assert not one.is_exceeded


def test_a_function_that_is_called_sync_free() -> None:
    inner = "def inner(x):\n    return x.item()\n\n\ndef other(x):\n    pass\n"
    helper = f"def free(x):{FREE}\n    return inner(x)\n\n\n{inner}"
    text = "from helper import free, other\n" + in_step("free(loss)\nother(loss)\n")
    inside, beside = event("helper.py", 6, "read", 0.1), event("helper.py", 10, "read", 0.1)
    (one,) = measured(text, [inside, beside], helper=helper).measured
    assert (one.claim, [each.place for each in one.events]) == ("helper.py:1, free", ["helper.py:6"])


def test_a_budget_of_the_script_and_json() -> None:
    found = measured(in_step("pass\n"), [event("train.py", 12, "log", 0.1)], {"train.py": {"logs": 0}})
    data = found.to_json()
    assert data["exceeded"]
    assert data["measured"] == [{"what": "logs", "sync_free": None, "limit": 0, "times": 1.0, "lines": ["train.py:12"]}]
    assert data["not_in_static_trace"] == ["train.py:12"]


def test_the_command_runs_once_and_fails_where_a_step_did_too_much(tmp_path: Path) -> None:
    place = project(tmp_path / "p", train=PLANTED)
    steps = ("--budget", "--warmup", "1", "--steps", "10")
    found = profile(place, *steps, "train.py")
    assert found.returncode == 2
    assert "--budget: nothing says what a step may do: set waits = 2" in found.stderr
    (place / "perflint.toml").write_text("[budget]\nwaits = 1\nlogs = 0\n")
    file = tmp_path / "profile.json"
    found = profile(place, *steps, "--json", str(file), "train.py")
    assert found.returncode == 1, found.stderr
    assert "Budget: 1 wait for the device a step, 1 allowed.\n" in found.stdout
    assert "Budget: 1 log line a step, 0 allowed: too many.\n" in found.stdout
    assert f"  train.py:{row_of('print(Line')}  " in found.stdout
    assert json.loads(file.read_text())["budget"]["exceeded"]
    (place / "perflint.toml").write_text("[budget]\nwaits = 1\n")
    assert profile(place, *steps, "train.py").returncode == 0
