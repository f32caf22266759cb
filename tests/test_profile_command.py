"""``perflint profile`` around a training: what it runs, shows and leaves behind.  Paddle is made up: this is quick."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from perflint.profile.profile_report import ProfileReport
from tests.profile_reports import read
from tests.test_bench_command import OWN_CLOCK, PATH, SCRIPT, linked_interpreter, project, tree

PLANTED = (
    OWN_CLOCK
    + """\
import paddle


class Data:
    def __len__(self):
        return 1000

    def __getitem__(self, index):
        takes(0.006)
        return [index.start]


class Slow:
    def __float__(self):
        takes(0.004)
        return 1.0

    def __str__(self):
        takes(0.02)
        return "x"

    def backward(self):
        takes(0.003)


class Line:
    def __str__(self):
        takes(0.002)
        return "a line"


class Net(paddle.nn.Layer):
    def forward(self, value):
        takes(0.003)
        return paddle.Tensor(Slow())


class Own(paddle.optimizer.SGD):
    def step(self):
        takes(0.002)


net, optimizer = Net(), Own()
for number, batch in enumerate(paddle.io.DataLoader(Data(), batch_size=5)):
    loss = net(batch)
    loss.backward()
    loss.item()
    print(Line())
    if number % 5 == 0:
        paddle.save(loss.value, "x.pdparams")
    takes(0.002)
    optimizer.step()
"""
)
"""A training whose parts take known times: on a clock of its own, as perflint's own work takes time on a real one."""
STEP_MS = {
    "reader": 6,
    "forward": 3,
    "backward": 3,
    "optimizer": 2,
    "read": 4,
    "copy": 0,
    "save": 20 / 5,
    "log": 2,
    "other": 2,
}


def row_of(text: str, script: str = PLANTED) -> int:
    return script[: script.index(text)].count("\n") + 1


def profile(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": PATH, "COLUMNS": "150"}
    command = [sys.executable, "-m", "perflint", "profile", *arguments]
    return subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, check=False)


def profiled(directory: Path, *arguments: str) -> ProfileReport:
    """The report of a run that must succeed."""
    file = directory.parent / "profile.json"
    own, of_script = arguments, []
    if "--" in arguments:
        end = arguments.index("--")
        own, of_script = arguments[:end], [*arguments[end:]]
    found = profile(directory, *own, "--json", str(file), *of_script)
    assert found.returncode == 0, found.stderr
    return read(json.loads(file.read_text()))


def test_an_interpreter_is_found_from_where_the_user_is(tmp_path: Path) -> None:
    project(tmp_path / "p", train=PLANTED)
    arguments = ("--warmup", "1", "--steps", "50", "--python", linked_interpreter(tmp_path))
    assert profiled(tmp_path, "p/train.py", *arguments).events


def test_planted_costs_are_found_again(tmp_path: Path) -> None:
    report = profiled(project(tmp_path / "p", train=PLANTED), "train.py", "--warmup", "1", "--steps", "50")
    assert {name: phase.ms for name, phase in report.phases.items()} == pytest.approx(STEP_MS)
    whole = sum(STEP_MS.values())
    assert report.step_ms.mean == pytest.approx(whole)
    assert {name: phase.share for name, phase in report.phases.items()} == pytest.approx(
        {name: ms / whole for name, ms in STEP_MS.items()}, abs=0.0001
    )
    rows = {event.phase: event.line for event in report.events if event.phase != "other"}
    assert rows == {
        "reader": row_of("for number"),
        "forward": row_of("loss = net"),
        "backward": row_of("loss.backward()"),
        "read": row_of("loss.item()"),
        "log": row_of("print(Line"),
        "save": row_of("paddle.save"),
        "optimizer": row_of("optimizer.step()"),
    }
    code = [event for event in report.events if event.phase == "other" and event.ms]
    assert sum(event.ms for event in code) == pytest.approx(STEP_MS["other"])
    # The call before it is named, or the rows that were seen to run, if there were enough looks at them.
    own = {*range(row_of("print(Line"), row_of("optimizer.step()") + 1), *range(1, OWN_CLOCK.count("\n") + 1)}
    assert {event.line for event in code} <= own


def test_the_report_says_what_ran(tmp_path: Path) -> None:
    directory = project(tmp_path / "p", train=SCRIPT, unused="x = 1\n")
    report = profiled(directory, "train.py", "--warmup", "2", "--steps", "6")
    assert (report.script, report.arguments, report.device) == ("train.py", [], "cpu")
    assert (report.warmup, report.steps, report.paddle) == (2, 6, "0.0, made up for tests")
    assert report.files == {"train.py": {"sha256": hashlib.sha256(SCRIPT.encode()).hexdigest()}}
    reader = next(event for event in report.events if event.kind == "reader")
    assert (reader.times, reader.note) == (1, f"0 workers, made at train.py:{row_of('loader =', SCRIPT)}")
    assert reader.source == "for (batch,) in loader:"
    read = next(event for event in report.events if event.kind == "read")
    assert (read.line, read.what, read.times) == (row_of("total +=", SCRIPT), "Tensor.item", 1)
    assert report.notes == []


def test_the_tree_stays_as_it_is_and_the_run_is_announced(tmp_path: Path) -> None:
    script = "import sys\n\nassert sys.argv[1:] == ['--name', 'x']\nopen('new.txt', 'w').write('x')\n" + SCRIPT
    directory = project(tmp_path / "p", train=script)
    before = tree(directory)
    found = profile(
        directory, "train.py", "--warmup", "2", "--steps", "6", "--html", "../page.html", "--", "--name", "x"
    )
    assert found.returncode == 0, found.stderr
    assert f"perflint profile RUNS train.py, in a copy of {directory}" in found.stderr
    assert found.stdout.splitlines()[0].split(" % of a step ")[0].replace(".", "").isdigit()
    assert "total += loss.item()" in found.stdout
    assert (tmp_path / "page.html").read_text().startswith("<!DOCTYPE html>")
    assert tree(directory) == before


def test_on_a_gpu_a_read_is_said_to_wait_and_perflint_s_own_waits_do_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WAITS", str(tmp_path / "waits"))
    script = SCRIPT + "    if total > 200:\n        paddle.device.synchronize()\n"
    directory = project(tmp_path / "p", train=script)
    report = profiled(directory, "train.py", "--warmup", "2", "--steps", "16")
    assert report.device == "gpu:0"
    waits = [event for event in report.events if event.kind == "wait"]
    assert [(event.place, event.what) for event in waits] == [
        (f"train.py:{row_of('        paddle.device', script)}", "paddle.device.synchronize")
    ]


def test_a_short_script_is_profiled_over_what_it_does(tmp_path: Path) -> None:
    report = profiled(project(tmp_path / "p", train=SCRIPT), "train.py", "--warmup", "15")
    assert (report.steps, report.notes) == (5, ["The script made 5 of the 50 steps to be measured."])


@pytest.mark.parametrize(
    ("text", "arguments", "said"),
    [
        ("import paddle\nraise RuntimeError('no data at /x')\n", (), "RuntimeError: no data at /x"),
        (SCRIPT, ("--warmup", "30"), "made 20 steps and ended, but the first 30 are warm-up"),
        ("print(1)\n", (), "never imported paddle"),
        (SCRIPT, ("--html", "/no/such/folder/page.html"), "/no/such/folder is not a directory"),
    ],
)
def test_what_cannot_be_profiled_is_said(tmp_path: Path, text: str, arguments: tuple[str, ...], said: str) -> None:
    found = profile(project(tmp_path / "p", train=text), "train.py", *arguments)
    assert found.returncode == 2, found.stdout
    assert said in found.stderr
    assert "internal error" not in found.stderr
