"""``perflint bench`` on small real training scripts, each in a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from perflint.bench.child import Plan
from perflint.bench.measure import measure
from perflint.bench.results import Report
from perflint.bench.variants import State

ROOT = Path(__file__).resolve().parents[1]
HEAD = """\
import sys
from pathlib import Path

import paddle
from paddle import nn
from paddle.io import DataLoader, TensorDataset

model = nn.Linear(8, 2)
optimizer = paddle.optimizer.AdamW(parameters=model.parameters())
criterion = nn.CrossEntropyLoss()
data = TensorDataset([paddle.randn([120, 8]), paddle.randint(0, 2, [120])])
"""
LOOP = """\
loader = DataLoader(data, batch_size=5)
total = 0.0
for x, y in loader:
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
    total += loss.item()
"""
FIT = """\
wrapped = paddle.Model(model)
wrapped.prepare(optimizer, criterion)
wrapped.fit(data, batch_size=5, epochs=1, verbose=0)
"""
SCALED = """\
scaler = paddle.amp.GradScaler(enable=False)
for x, y in DataLoader(data, batch_size=5):
    loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.clear_grad()
"""
WORKERS = """
import numpy as np


class Numbers(paddle.io.Dataset):
    def __len__(self):
        return 120

    def __getitem__(self, index):
        return np.ones(8, "float32"), np.int64(index % 2)


data = Numbers()
""" + LOOP.replace("batch_size=5", "batch_size=5, num_workers=2")
QUICK = ("--steps", "6", "--warmup", "2", "--rounds", "2")


def bench(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "perflint", "bench", *arguments]
    return subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, check=False)


def tree(directory: Path) -> dict[str, bytes]:
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def plan(root: Path, **changes: object) -> Plan:
    start = Plan(root.resolve(), Path("train.py"), Path(), [], sys.executable, warmup=2, steps=6)
    return Plan(**{**vars(start), **changes})


def test_the_whole_command_leaves_the_tree_alone(tmp_path: Path) -> None:
    """Arguments, relative paths, a large file that is written, and one that the working directory lacks."""
    project = tmp_path / "project"
    (project / "data").mkdir(parents=True)
    (project / "data" / "large.bin").write_bytes(b"a" * (2 << 20))
    (project / "data" / "appended.bin").write_bytes(b"b" * (2 << 20))
    writes = """
assert sys.argv[1:] == ["--name", "out.txt"]
Path(sys.argv[2]).write_text("x")
Path("data/large.bin").write_bytes(b"new")
with open("data/appended.bin", "ab") as file:
    file.write(b"c")
assert Path("data/appended.bin").read_bytes() == b"b" * (2 << 20) + b"c"
"""
    (project / "train.py").write_text(HEAD + writes + LOOP)
    before = tree(project)
    found = bench(project, "train.py", *QUICK, "--json", str(tmp_path / "r.json"), "--", "--name", "out.txt")
    assert found.returncode == 0, found.stderr
    assert "RUNS train.py" in found.stderr
    assert tree(project) == before
    report = Report.from_json(json.loads((tmp_path / "r.json").read_text()))
    assert [variant.name for variant in report.variants] == ["before", "all fixes"]
    runs = [run for variant in report.variants for run in variant.runs]
    assert all(len(run.batch_s) == len(run.losses) == 6 and run.samples == [5] * 6 for run in runs)
    assert all(0 <= reader <= batch for run in runs for reader, batch in zip(run.reader_s, run.batch_s, strict=True))
    assert report.comparisons[0].same_losses is True  # the fix is safe: bit for bit
    assert report.variants[1].codes == ["PPF201"]
    assert report.variants[1].places == [
        f"train.py:{(HEAD + writes + LOOP).splitlines().index(LOOP.splitlines()[-1]) + 1}"
    ]
    assert "Linked into the copies rather than copied: data/appended.bin, data/large.bin." in report.notes


@pytest.mark.parametrize("body", [FIT, SCALED, WORKERS], ids=["fit", "scaler", "workers"])
def test_each_way_to_train_is_seen(tmp_path: Path, body: str) -> None:
    """The same twice.  Steps this short say nothing about speed on a machine that does other work."""
    (tmp_path / "train.py").write_text(HEAD + body)
    report = measure(plan(tmp_path), [State("before"), State("again")], 2)
    [found] = report.comparisons
    assert 0 < found.low <= found.ratio <= found.high
    assert found.same_losses is True
    for run in (run for variant in report.variants for run in variant.runs):
        assert run.samples == [5] * 6
        assert all(loss is not None for loss in run.losses)
        assert run.peak_memory_mib > 0


@pytest.mark.parametrize(
    ("text", "arguments", "said"),
    [
        (HEAD + LOOP + "\nraise RuntimeError", (), "nothing"),
        ("import sys\nimport paddle\nraise RuntimeError('no data at /x')\n" + HEAD + LOOP, (), "no data at /x"),
        (HEAD + LOOP, ("--warmup", "30"), "made no step after the 30 of the warm-up"),
        ("if False:\n" + "".join(f"    {row}\n" for row in (HEAD + LOOP).splitlines()), (), "never imported paddle"),
        (HEAD + "import time\ntime.sleep(60)\n" + LOOP, ("--time-limit", "4"), "in 4 s (--time-limit)"),
        (HEAD, (), "nothing to compare"),
    ],
    ids=["fails later", "fails", "too short", "no paddle", "time limit", "no fix"],
)
def test_what_cannot_be_measured_is_said(tmp_path: Path, text: str, arguments: tuple[str, ...], said: str) -> None:
    (tmp_path / "train.py").write_text(text)
    found = bench(tmp_path, "train.py", *QUICK, *arguments)
    if said == "nothing":  # the steps were over before it failed
        assert found.returncode == 0, found.stderr
    else:
        assert found.returncode == 2
        assert said in found.stderr
        assert "internal error" not in found.stderr


def test_ctrl_c_leaves_nothing_behind(tmp_path: Path) -> None:
    project, temporary = tmp_path / "project", tmp_path / "tmp"
    project.mkdir()
    temporary.mkdir()
    mark = tmp_path / "pid"
    begin = f"import os, time\nopen({str(mark)!r}, 'w').write(str(os.getpid()))\ntime.sleep(100)\n"
    (project / "train.py").write_text(begin + HEAD + LOOP)
    process = subprocess.Popen(
        [sys.executable, "-m", "perflint", "bench", "train.py"],
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(temporary)},
        stderr=subprocess.PIPE,
    )
    while process.poll() is None and not (mark.exists() and mark.read_text()):
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    process.communicate()
    assert process.returncode == 130
    assert not any(temporary.iterdir())
    with pytest.raises(ProcessLookupError):
        os.kill(int(mark.read_text()), 0)
