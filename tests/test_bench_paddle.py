"""What ``perflint bench`` sees of real trainings with Paddle, each way in which they step."""

from __future__ import annotations

import ast
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perflint.bench.measure import Bench
from perflint.bench.results import BEFORE
from perflint.bench.script_run import Outcome, OutOfTime, Plan
from perflint.bench.variants import VariantFiles
from tests.bench_reports import passes_after

HEAD = """\
import numpy as np
import paddle
from paddle import nn
from paddle.io import DataLoader, Dataset

model = nn.Linear(8, 2)
optimizer = paddle.optimizer.AdamW(parameters=model.parameters())
criterion = nn.CrossEntropyLoss()


class Numbers(Dataset):
    def __len__(self):
        return 120

    def __getitem__(self, index):
        return np.full(8, index, "float32"), np.int64(index % 2)


data = Numbers()
"""
LOOP = """\
for x, y in DataLoader(data, batch_size=5, shuffle=True):
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
"""
FIT = """\
wrapped = paddle.Model(model)
wrapped.prepare(optimizer, criterion)
wrapped.fit(data, batch_size=5, epochs=1, verbose=0)
"""
SCALED = """\
scaler = paddle.amp.GradScaler()
for x, y in DataLoader(data, batch_size=5):
    with paddle.amp.auto_cast():
        loss = criterion(model(x), y)
    scaled = scaler.scale(loss)
    scaled.backward()
    scaler.minimize(optimizer, scaled)
    optimizer.clear_grad()
"""
ACCUMULATED = (
    LOOP.replace("    optimizer.step()\n    optimizer.clear_grad()\n", "")
    + """\
    made = globals().get("made", 0) + 1
    if made % 2 == 0:
        optimizer.step()
        optimizer.clear_grad()
"""
)
OWN = (
    """\
class Own(paddle.optimizer.SGD):
    def step(self):
        super().step()


optimizer = Own(parameters=model.parameters())
"""
    + LOOP
)


STATIC = """\
import numpy as np
import paddle

paddle.enable_static()
x = paddle.static.data("x", [None, 8], "float32")
loss = paddle.mean(paddle.static.nn.fc(x, 2))
paddle.optimizer.Adam(0.01).minimize(loss)
exe = paddle.static.Executor(paddle.CPUPlace())
exe.run(paddle.static.default_startup_program())
test = paddle.static.Program()
with paddle.static.program_guard(test):
    y = paddle.static.data("y", [None, 8], "float32") * 2
for step in range(20):
    exe.run(test, feed={"y": np.ones((2, 8), "float32")}, fetch_list=[y])
    exe.run(feed={"x": np.full((5, 8), step, "float32")}, fetch_list=[x, loss])
"""
LAUNCHED = (
    HEAD.replace("criterion =", "paddle.distributed.init_parallel_env()\ncriterion =")
    + """\
paddle.seed(paddle.distributed.get_rank())
sampler = paddle.io.DistributedBatchSampler(data, 5)
for x, y in DataLoader(data, batch_sampler=sampler):
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
"""
)


def outcome(directory: Path, text: str, seconds: float = 200, **how: Any) -> Outcome:
    project = directory / "project"
    project.mkdir(exist_ok=True)
    (project / "train.py").write_text(text)
    plan = Plan(project.resolve(), Path("train.py"), Path(), [], sys.executable, warmup=2, steps=6, **how)
    return Bench(plan, seconds).run(VariantFiles(BEFORE))


@pytest.mark.parametrize(
    ("body", "samples"),
    [
        (LOOP, 5),
        (LOOP.replace("batch_size=5", "batch_size=5, num_workers=2"), 5),
        (FIT, 5),
        (SCALED, 5),
        (ACCUMULATED, 10),
        (OWN, 5),
    ],
    ids=["loop", "workers", "fit", "scaler", "accumulation", "own optimizer"],
)
def test_each_way_to_step_is_seen(tmp_path: Path, body: str, samples: int) -> None:
    found = outcome(tmp_path, HEAD + body)
    assert found.steps.samples == [samples] * 6
    assert all(loss is not None for loss in found.steps.losses)
    assert all(0 < reader < batch for reader, batch in zip(found.steps.reader_s, found.steps.batch_s, strict=True))
    assert found.steps.peak_memory_mib > 50
    assert found.steps.device == "cpu"
    assert found.files == ["train.py"]
    assert set(found.versions) == {"python", "paddle", "numpy"}
    assert f"{os.cpu_count()} cores" in found.machine


@pytest.mark.parametrize("flag", ["1", "0"], ids=["pir", "program"])
def test_a_static_graph_is_seen(tmp_path: Path, flag: str) -> None:
    """Each run of the program with gradients, and of no other one."""
    found = outcome(tmp_path, STATIC, environment={"FLAGS_enable_pir_api": flag})
    assert found.steps.samples == [5] * 6
    losses = found.steps.losses
    assert len({loss for loss in losses if loss is not None}) == 6
    assert [reader == 0 for reader in found.steps.reader_s] == [True] * 6


def test_two_processes_are_seen_as_one_training(tmp_path: Path) -> None:
    launch = ["paddle.distributed.launch", "--nproc_per_node", "2"]
    found = outcome(tmp_path, LAUNCHED, launch=launch)
    assert found.steps.samples == [10] * 6
    assert found.steps.device.startswith("2 x ")
    assert all(loss is not None for loss in found.steps.losses)


def test_the_same_again_has_the_same_losses(tmp_path: Path) -> None:
    """Shuffled, with weights that are drawn, and no seed in the script."""
    assert outcome(tmp_path, HEAD + LOOP).steps.losses == outcome(tmp_path, HEAD + LOOP).steps.losses


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="batches are handed over in /dev/shm on Linux")
def test_a_stopped_training_leaves_no_batches_in_shared_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pids = tmp_path / "pids"
    pids.mkdir()
    worker = f"def note(_):\n    import os\n    open(f'{pids}/{{os.getpid()}}', 'w')\n\n\n"
    loop = LOOP.replace("batch_size=5", "batch_size=5, num_workers=2, worker_init_fn=note")
    hangs = f"    import time; open({str(tmp_path / 'seen')!r}, 'w'); time.sleep(1000)\n"
    passes_after(tmp_path / "seen", 100, monkeypatch)
    with pytest.raises(OutOfTime):
        outcome(tmp_path, HEAD + worker + loop.replace("    loss.backward()\n", hangs + "    loss.backward()\n"), 100)
    started = [path.name for path in pids.iterdir()]
    assert len(started) == 2
    assert not [path for pid in started for path in Path("/dev/shm").glob(f"paddle_{pid}_*")]


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="there is no memory to read there")
def test_the_memory_is_that_of_the_training(tmp_path: Path) -> None:
    """Of the one that is watched, however large the process that starts it is."""
    ballast = np.ones(700 << 20, "uint8")
    usual = outcome(tmp_path, HEAD + LOOP).steps.peak_memory_mib
    more = outcome(tmp_path, HEAD + "held = np.ones(200 << 20, 'uint8')\n" + LOOP).steps.peak_memory_mib
    assert len(ballast) == 700 << 20
    assert more - usual == pytest.approx(200, abs=30)


def test_only_the_first_optimizer_counts(tmp_path: Path) -> None:
    other = HEAD.replace("criterion =", "other = paddle.optimizer.SGD(parameters=model.parameters())\ncriterion =")
    body = LOOP.replace("    optimizer.step()\n", "    optimizer.step()\n    other.step()\n")
    assert outcome(tmp_path, other + body).steps.samples == [5] * 6


def test_the_runner_needs_no_newer_python_than_paddle() -> None:
    """It runs in the user's interpreter: names, syntax and keywords that came later would fail there."""
    runner = Path(__file__).resolve().parents[1] / "perflint" / "bench" / "runner"
    for path in runner.glob("*.py"):
        tree = ast.parse(path.read_text(), feature_version=(3, 8))
        words = {item.arg for item in ast.walk(tree) if isinstance(item, ast.keyword)}
        assert "strict" not in words
        assert not [item for item in ast.walk(tree) if isinstance(item, ast.Attribute) and item.attr == "removeprefix"]
