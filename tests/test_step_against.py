"""``perflint step --against``: what a change adds to a training step, takes from it, and does more or less often."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from perflint.cli import main
from perflint.commands import step
from perflint.flow.resolving import opened
from perflint.index.project import Project
from perflint.trace.difference import StepDifference, differences
from perflint.trace.step_trace import StepTrace, traces
from tests.cli_runs import Output, write
from tests.git_runs import commit, start
from tests.support import Files, in_step, sources

HELPER = "import paddle\n\n\ndef record(loss, losses):\n    losses.append(loss.item())\n"
WITH_HELPER = "from helper import record\n"


def compared(before: Files, after: Files) -> list[StepDifference]:
    """The steps of two states of a project."""
    return differences(*([*traces(opened(sources(files)))] for files in (before, after)))


def changes(before: Files, after: Files) -> list[str]:
    """What differs in its only step, as the sign, the kind and the code of each event."""
    (found,) = compared(before, after)
    signs = {(True, False): "-", (False, True): "+", (True, True): "~"}
    return [
        f"{'=' if each.is_replaced else signs[bool(each.before), bool(each.after)]} "
        f"{each.shown.event.kind.value} {each.shown.code}"
        for each in found.events
    ]


def test_an_event_is_added_and_another_taken_away() -> None:
    before, after = in_step("print(step)\n"), in_step("total = loss.item()\n")
    assert changes(before, after) == ["+ read loss.item()", "- log print(step)"]
    assert changes(after, before) == ["+ log print(step)", "- read loss.item()"]


def test_lines_that_move_and_names_that_change_are_no_difference() -> None:
    before = in_step("value = loss.item()\n")
    assert changes(before, "# a comment\n" + in_step("x = 1\nvalue = loss.item()\n")) == []
    renamed = before.replace("loss", "total_loss").replace("value", "number")
    assert changes(before, renamed) == []
    (found,) = compared(before, renamed)
    assert found.is_same


def test_a_function_that_moves_to_another_file_is_no_difference() -> None:
    def record(body: str) -> str:
        return body.replace("import numpy as np\n", "import numpy as np\n\n\n" + HELPER.partition("\n\n\n")[2] + "\n")

    step = in_step("record(loss, [])\n")
    before = {"train.py": record(step)}
    after = {"train.py": WITH_HELPER + step, "helper.py": HELPER}
    assert len(compared(before, after)[0].after.nodes) > 0  # type: ignore[union-attr]  # the step is there
    assert changes(before, after) == []


def test_a_function_with_another_name_is_no_difference() -> None:
    before = {"train.py": WITH_HELPER + in_step("record(loss, [])\n"), "helper.py": HELPER}
    after = {path: text.replace("record", "remember") for path, text in before.items()}
    assert changes(before, after) == []


def test_how_often_is_a_difference_of_its_own() -> None:
    before, after = in_step("if step % 100 == 0:\n    x = loss.item()\n"), in_step("x = loss.item()\n")
    (found,) = compared(before, after)
    (change,) = found.events
    assert [met.often.name for met in (change.before[0], change.after[0])] == ["EVERY_N", "EACH_STEP"]
    assert change.is_more
    assert found.is_more
    (back,) = compared(after, before)
    assert not back.events[0].is_more
    assert not back.is_more


def test_what_no_step_meets_is_no_difference() -> None:
    off, on = in_step("if False:\n    print(step)\n"), in_step("if True:\n    print(step)\n")
    assert changes(in_step("pass\n"), off) == []
    assert changes(off, on) == ["+ log print(step)"]


def test_a_loop_around_an_event_is_more_of_it() -> None:
    before, after = in_step("y = loss.item()\n"), in_step("for part in parts:\n    y = loss.item()\n")
    (found,) = compared(before, after)
    assert [(each.before[0].loops, each.after[0].loops) for each in found.events] == [(0, 1)]
    assert found.counts["waits"] == (1, 1)
    assert found.is_more


def test_the_same_value_read_in_another_way_replaces_it() -> None:
    assert changes(in_step("x = loss.numpy()\n"), in_step("x = float(loss)\n")) == ["= read float(loss)"]
    logged = in_step("print('a', step)\n"), in_step("print(f'b {step} of {len(loader)}')\n")
    assert changes(*logged) == ["= log print(f'b {step} of {len(loader)}')"]
    (found,) = compared(*logged)
    assert not found.is_more


def test_one_function_called_at_one_more_place() -> None:
    before = {"train.py": WITH_HELPER + in_step("record(loss, [])\n"), "helper.py": HELPER}
    after = {**before, "train.py": WITH_HELPER + in_step("record(loss, [])\nrecord(loss * 2, [])\n")}
    (found,) = compared(before, after)
    (change,) = found.events
    assert (len(change.before), len(change.after)) == (0, 1)
    assert change.shown.occurrence.calls[0].node.lineno == 14  # the second call: it is row 14 of train.py


def test_steps_that_are_new_and_lost() -> None:
    other = in_step("print(step)\n").replace("def train", "def pretrain")
    both = in_step("pass\n") + "\n\n" + other[other.index("def pretrain") :]
    found = compared(in_step("pass\n"), both)
    assert [(each.before is None, each.after is None) for each in found] == [(False, False), (True, False)]
    assert not any(each.is_more for each in found)
    found = compared(both, in_step("pass\n"))
    assert [(each.before is None, each.after is None) for each in found] == [(False, False), (False, True)]


def test_a_step_whose_function_has_another_name_is_found_by_what_it_does() -> None:
    before = in_step("print(step)\nx = loss.item()\n")
    (found,) = compared(before, before.replace("def train", "def fit"))
    assert found.is_same


def test_two_loops_of_one_function_are_matched_in_order() -> None:
    one = in_step("print(step)\n")
    two = one + "\n".join(one.partition("def train")[2].split("\n")[1:])
    found = compared(two, two)
    assert [each.before.row == each.after.row for each in found if each.before and each.after] == [True, True]


LOADER = "loader = paddle.io.DataLoader(data, num_workers={})\n"


def test_workers_of_the_loader() -> None:
    def program(workers: int) -> str:
        return in_step("pass\n").replace("    for step", f"    {LOADER.format(workers)}    for step")

    (found,) = compared(program(0), program(4))
    ((then, now),) = found.loaders
    assert then is not None
    assert now is not None
    assert (then.workers, now.workers) == ((0,), (4,))
    assert compared(program(4), program(4))[0].loaders == ()


# -- with git -------------------------------------------------------------------------------------------------------


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    start(tmp_path / "repository", monkeypatch)


def against(capsys: Output, *arguments: str, status: int = 0) -> str:
    """What the command shows."""
    assert main(["step", "--against", "HEAD", *arguments]) == status
    shown, notes = capsys.readouterr()
    assert notes == ""
    return shown


def as_json(capsys: Output, *arguments: str) -> Any:
    return json.loads(against(capsys, "--output-format", "json", *arguments))


@pytest.mark.usefixtures("repository")
def test_text_for_people(capsys: Output) -> None:
    write(train=in_step("if step % 9 == 0:\n    print(loss.item())\n"), helper=HELPER)
    commit()
    assert against(capsys) == "No step does anything else than in HEAD.\n"
    write(train=WITH_HELPER + in_step("record(loss, [])\nprint(loss.item())\n"))
    expected = """\
train.py:8, train
  +1 wait at each step: helper.py:5 `loss.item()` (called from train.py:13)
  ~ wait now at each step, was every n steps: train.py:14 `loss.item()`
  ~ log line now at each step, was every n steps: train.py:14 `print(loss.item())`
At most, at each step: 2 waits for the device (was 0), 1 log line (was 0).
"""
    assert against(capsys) == expected
    assert against(capsys, "train.py") == expected
    assert against(capsys, "--fail-on-more", status=1) == expected
    commit()
    write(train=in_step("pass\n"))
    shown = against(capsys, "--fail-on-more")
    assert "  -1 wait at each step: helper.py:5 `loss.item()` of HEAD (called from train.py:13)\n" in shown
    assert shown.endswith("0 waits for the device (was 2), 0 log lines (was 1).\n")


@pytest.mark.usefixtures("repository")
def test_json_for_programs(capsys: Output) -> None:
    write(train=in_step("pass\n"))
    commit()
    write(train=in_step("x = loss.item()\n"))
    found = as_json(capsys)
    assert found["against"] == "HEAD"
    (step,) = found["steps"]
    assert (step["same"], step["more"]) == (False, True)
    assert step["after"] == {"path": "train.py", "row": 7, "function": "train"}
    assert step["most_at_each_step"]["waits"] == {"before": 0, "after": 1}
    (event,) = step["events"]
    assert (event["change"], event["kind"], event["waits"], event["count"], event["before"]) == (
        *("added", "read", True, 1),
        None,
    )
    assert event["after"] == {
        **{"path": "train.py", "row": 12, "function": "train", "code": "loss.item()"},
        **{"every": "each_step", "loops": 0, "calls": []},
    }


@pytest.mark.usefixtures("repository")
def test_files_that_are_new_gone_and_moved(capsys: Output) -> None:
    Path("lib").mkdir()
    Path("lib/helper.py").write_text(HELPER)
    write(train="from lib." + WITH_HELPER.removeprefix("from ") + in_step("record(loss, [])\n"))
    commit()
    Path("lib/helper.py").rename("tools.py")
    write(train="from tools import record\n" + in_step("record(loss, [])\n"))
    # The program alone is read with what it imports now, and then: both files have the helper.
    for arguments in ([], ["train.py"]):
        assert against(capsys, *arguments) == "No step does anything else than in HEAD.\n"
    assert not Path("lib/helper.py").exists()


@pytest.mark.usefixtures("repository")
def test_what_a_named_file_no_longer_imports_is_read_too(capsys: Output) -> None:
    write(train=WITH_HELPER + in_step("record(loss, [])\n"), helper=HELPER)
    commit()
    write(train=in_step("pass\n"))
    assert "-1 wait at each step: helper.py:5 `loss.item()` of HEAD" in against(capsys, "train.py")


@pytest.mark.usefixtures("repository")
def test_from_a_directory_below(capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("sub").mkdir()
    Path("sub/train.py").write_text(in_step("pass\n"))
    commit()
    Path("sub/train.py").write_text(in_step("print(step)\n"))
    monkeypatch.chdir("sub")
    assert "+1 log line at each step: train.py:12" in against(capsys)
    monkeypatch.chdir("..")
    assert "+1 log line at each step: sub/train.py:12" in against(capsys, "sub")


@pytest.mark.usefixtures("repository")
def test_a_file_that_did_not_exist_is_a_new_step_and_fails_nothing(capsys: Output) -> None:
    commit()
    write(train=in_step("print(step)\n"))
    shown = against(capsys, "--fail-on-more")
    assert shown == "train.py:7, train: a new step\nAt most, at each step: 1 log line.\n"
    commit()
    Path("train.py").unlink()
    write(other="x = 1\n")
    assert against(capsys) == "train.py:7, train: this step of HEAD is gone\n"


@pytest.mark.usefixtures("repository")
@pytest.mark.parametrize(("row", "followed"), [("# a comment\n\n", 0), ("x = 1\n", 2)])
def test_a_check_follows_steps_only_if_code_has_changed(
    row: str, followed: int, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[Project] = []

    def noted(project: Project) -> Iterator[StepTrace]:
        calls.append(project)
        return traces(project)

    monkeypatch.setattr(step, "traces", noted)
    write(train=in_step("x = loss.item()\n"))
    commit()
    write(train=row + in_step("x = loss.item()\n"))
    assert main(["check", "-q", "--select", "PPF201", "--changed-since", "HEAD"]) == 0
    assert len(calls) == followed  # now, and in the revision
    capsys.readouterr()


@pytest.mark.usefixtures("repository")
def test_errors_for_people(capsys: Output, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    write(train=in_step("pass\n"))
    commit()
    assert main(["step", "--against", "no-such", "."]) == 2
    assert "--against no-such: git knows no revision 'no-such'" in capsys.readouterr().err
    (tmp_path / "outside").mkdir()
    monkeypatch.chdir(tmp_path / "outside")
    write(train=in_step("pass\n"))
    assert main(["step", "--against", "HEAD"]) == 2
    assert "in no git repository" in capsys.readouterr().err
