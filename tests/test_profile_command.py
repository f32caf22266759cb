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
from tests.test_bench_command import PATH, SCRIPT, linked_interpreter, project, tree

PLANTED = """\
import json
import sys
import time

import paddle


def busy(seconds):
    start = time.perf_counter()
    while time.perf_counter() - start < seconds:
        pass


class Data:
    def __len__(self):
        return 1000

    def __getitem__(self, index):
        busy(0.006)
        return [index.start]


class Slow:
    def __float__(self):
        busy(0.004)
        return 1.0

    def __str__(self):
        busy(0.02)
        return "x"

    def backward(self):
        busy(0.003)


class Line:
    def __str__(self):
        busy(0.002)
        return "a line"


class Net(paddle.nn.Layer):
    def forward(self, value):
        busy(0.003)
        return paddle.Tensor(Slow())


class Own(paddle.optimizer.SGD):
    def step(self):
        busy(0.002)


took = {}


def note(what, since):
    now = time.perf_counter()
    took[what] = took.get(what, 0.0) + now - since
    return now


net, optimizer = Net(), Own()
start = since = time.perf_counter()
for number, batch in enumerate(paddle.io.DataLoader(Data(), batch_size=5)):
    since = note("reader", since)
    loss = net(batch)
    since = note("forward", since)
    loss.backward()
    since = note("backward", since)
    loss.item()
    since = note("read", since)
    print(Line())
    since = note("log", since)
    if number % 5 == 0:
        paddle.save(loss.value, "x.pdparams")
    since = note("save", since)
    busy(0.002)
    since = note("other", since)
    optimizer.step()
    since = note("optimizer", since)
    if number == 50:
        with open(sys.argv[1], "w") as file:
            json.dump(took, file)
"""
"""A training that keeps the processor busy for known times.  It notes itself how long they really were: on a machine
with other work they are longer."""


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
    return ProfileReport.from_json(json.loads(file.read_text()))


def test_an_interpreter_is_found_from_where_the_user_is(tmp_path: Path) -> None:
    project(tmp_path / "p", train=PLANTED)
    arguments = ("--warmup", "1", "--steps", "51", "--python", linked_interpreter(tmp_path))
    assert profiled(tmp_path, "p/train.py", *arguments, "--", str(tmp_path / "busy.json")).events


def test_planted_costs_are_found_again(tmp_path: Path) -> None:
    """Each share is within a tenth of what the script itself has seen, or a hundredth of a step; the line is right."""
    directory = project(tmp_path / "p", train=PLANTED)
    busy = tmp_path / "busy.json"
    report = profiled(directory, "train.py", "--warmup", "1", "--steps", "51", "--", str(busy))
    planted = json.loads(busy.read_text())
    shares = {name: seconds / sum(planted.values()) for name, seconds in planted.items()}
    assert len(shares) == 8
    for name, share in shares.items():
        unplanted = 0.05 if name == "other" else 0.01  # what the script and the recorder do beside
        assert report.phases[name].share == pytest.approx(share, rel=0.1, abs=unplanted), name
    rows = {event.phase: event.line for event in reversed(report.events)}
    assert rows == {
        "reader": row_of("for number"),
        "forward": row_of("loss = net"),
        "backward": row_of("loss.backward()"),
        "read": row_of("loss.item()"),
        "log": row_of("print(Line"),
        "save": row_of("paddle.save"),
        "optimizer": row_of("optimizer.step()"),
        "other": rows["other"],
    }
    code = next(event.line for event in report.events if event.phase == "other")
    assert code in (
        row_of("paddle.save"),
        row_of("print(Line"),
        row_of("busy(0.002)\n    since"),
        row_of("while time."),
    )
    assert sum(phase.share for phase in report.phases.values()) == pytest.approx(1, abs=0.01)
    assert sum(phase.ms for phase in report.phases.values()) == pytest.approx(report.step_ms.mean, rel=0.01)


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
