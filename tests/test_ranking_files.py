"""The four kinds of files that say where the time of a training went, and files that are none of them."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from perflint.ranking.profile_files import open_profile
from perflint.ranking.shares import LineShare, UnusableProfile
from tests.ranking_samples import (
    call,
    copied,
    event,
    mark,
    nsys_tables,
    recorded,
    row_of,
    trace,
    two_steps,
    write_json,
    write_nsys,
)

# --- perflint profile


def test_own_profile(tmp_path: Path) -> None:
    data = recorded(
        event("paddle.save", "save", 0.25),
        event("loss.item", "read", 0.05),
        event("x.max", "wait", 0.125, phase="read"),
        phases={"reader": 0.5, "save": 0.25, "read": 0.175, "log": 0.0},
    )
    found = open_profile(write_json(tmp_path / "profile.txt", data))
    assert (found.steps, found.device, found.made_by) == (50, "cpu", "a profile of perflint")
    assert found.phases == {"reader": 0.5, "save": 0.25, "read": 0.175, "wait": 0.125}
    assert found.lines[0] == LineShare("train.py", row_of("paddle.save"), "save", "save", "a save", 0.25)
    assert found.share_of(("read",)) == (0.175, ("read",))
    assert found.share_of(("read", "log")) == (0.175, ("read",))  # it would have seen a log line
    assert found.share_of(("collect",)) is None
    assert found.described == f"{tmp_path / 'profile.txt'} is a profile of perflint, 50 steps, on a CPU"


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"version": 2}, "it has version 2 and perflint reads 1"),
        ({"steps": 0}, "it has no steps"),
        ({"steps": "many"}, "it has no steps"),
        ({"events": {}}, "it is damaged (events should be a list of JSON)"),
        ({"events": [7]}, "it is damaged (events should be an object of JSON)"),
        ({"phases": None}, "it is damaged (phases should be an object of JSON)"),
        ({"files": {"train.py": "0123"}}, "it is damaged (files should be an object of JSON)"),
    ],
)
def test_own_profile_that_cannot_be_used(tmp_path: Path, change: dict[str, Any], problem: str) -> None:
    path = write_json(tmp_path / "profile.json", {**recorded(), **change})
    with pytest.raises(UnusableProfile) as caught:
        open_profile(path)
    assert str(caught.value).startswith(problem)


def test_a_share_that_was_rounded_to_nothing_is_known(tmp_path: Path) -> None:
    cheap = {**event("paddle.save", "save", 0.0), "times": 1.0, "ms": 0.029}
    never = {**event("loss.item", "read", 0.0), "times": 0.0, "ms": 0.0}
    found = open_profile(write_json(tmp_path / "profile.json", recorded(cheap, never)))
    assert [(line.row, line.share) for line in found.lines] == [(row_of("paddle.save"), 0.0)]


def test_numbers_that_are_none_are_left_out(tmp_path: Path) -> None:
    odd = [{**event("paddle.save", "save", 0.5), "share": share} for share in ("1", None, -3, True, float("nan"))]
    huge = {**event("paddle.save", "save", 0.5), "share": 10**400}
    data = {**recorded(*odd[:0]), "events": [*odd, huge]}
    found = open_profile(write_json(tmp_path / "profile.json", data))
    assert [line.share for line in found.lines] == [1.0]


# --- Paddle Profiler


def test_trace_of_two_steps(tmp_path: Path) -> None:
    path = tmp_path / "trace"
    path.write_bytes(trace(two_steps()))
    found = open_profile(path)
    assert (found.steps, found.device) == (2, "cpu")
    assert found.phases == pytest.approx(
        {"reader": 0.4, "forward": 0.3, "backward": 0.1, "optimizer": 0.1, "other": 0.1, "gap": 0.1}
    )
    assert found.classes == pytest.approx({"Net": 0.3, "Head": 0.2})
    assert found.names == pytest.approx({"read the loss": 0.05})
    assert found.share_of(("read",)) is None  # no trace on a CPU has events for it
    gap = found.share_of(("save",))
    assert gap is not None
    assert gap[1] == ("gap",)
    assert gap[0] == pytest.approx(0.1)


def test_first_of_several_steps_and_a_last_one_without_training_do_not_count(tmp_path: Path) -> None:
    warm = [mark("ProfileStep", "ProfileStep#9", -900, 0), mark("Dataloader", "it", -900, -100)]
    last = [mark("ProfileStep", "ProfileStep#12", 200, 300)]
    shifted = [{**each, "ts": each["ts"] + 1000} for each in [*warm, *two_steps(), *last]]
    path = tmp_path / "trace.json"
    path.write_bytes(trace(shifted))
    found = open_profile(path)
    assert found.steps == 2
    assert found.phases["reader"] == pytest.approx(0.4)


def test_trace_of_a_gpu_tells_reads_copies_and_waits_apart(tmp_path: Path) -> None:
    calls = [
        *(call("cudaMemcpyAsync", 41, 51, 1), copied("DtoH", 1)),
        *(call("cudaMemcpyAsync", 101, 106, 2), copied("HtoD", 2)),
        *(call("cudaStreamSynchronize", 52, 72, 3), call("cudaLaunchKernel", 73, 99, 4)),
        *(call("cudaMemcpyAsync", 120, 199, 5), copied("DtoD", 5)),
    ]
    path = tmp_path / "trace.json"
    path.write_bytes(trace([*two_steps(), *calls]))
    found = open_profile(path)
    assert found.device == "gpu"
    shares = {phase: found.phases[phase] for phase in ("read", "copy", "wait")}
    assert shares == pytest.approx({"read": 30 / 200, "copy": 25 / 200, "wait": 20 / 200})  # a read may wait by itself
    assert found.share_of(("optimizer",)) is None  # on a GPU the host's time bounds no kernel


def test_calls_of_another_thread_are_no_time_of_the_step(tmp_path: Path) -> None:
    beside = {**call("cudaStreamSynchronize", 0, 200, 3), "tid": "8(C++)"}
    path = tmp_path / "trace.json"
    path.write_bytes(trace([*two_steps(), beside]))
    assert "wait" not in open_profile(path).phases


def test_trace_that_is_cut_or_holds_a_name_that_spoils_an_event(tmp_path: Path) -> None:
    whole = trace(two_steps()).decode()
    path = tmp_path / "trace.json"
    path.write_text(whole.replace("Gradient Backward", 'a "quoted" name, which Paddle does not escape', 1))
    found = open_profile(path)
    assert found.notes == (f"1 event of {path} could not be read, and is left out",)
    assert found.phases["backward"] == pytest.approx(0.05)
    path.write_text(whole[: whole.rindex('"Optimization Step')])
    found = open_profile(path)
    assert found.notes == (f"{path} is cut off: its events up to that point are used",)
    assert found.phases["optimizer"] == pytest.approx(0.05)


def test_odd_events_of_a_trace_are_passed_over(tmp_path: Path) -> None:
    step = mark("ProfileStep", "ProfileStep#0", 5, 6)
    odd = [7, None, [step], {**step, "cat": ["ProfileStep"]}, {**step, "name": 3}, {**step, "ts": "5"}]
    odd += [{**step, "dur": number} for number in (-1, True, float("nan"), float("inf"), 10**400)]
    path = tmp_path / "trace.json"
    path.write_bytes(trace([*two_steps(), *odd]))  # type: ignore[list-item]  # which they are to be
    assert open_profile(path).steps == 2


def test_trace_without_steps(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(trace([each for each in two_steps() if each["cat"] != "ProfileStep"]))
    with pytest.raises(UnusableProfile, match=r"it has no steps: call step\(\) of the profiler"):
        open_profile(path)
    path.write_bytes(trace([mark("ProfileStep", "ProfileStep#0", 5, 5)]))
    with pytest.raises(UnusableProfile, match="its steps take no time"):
        open_profile(path)


def test_an_entry_without_an_end_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text('{"traceEvents": [{"name": "' + "x" * 9_000_000)
    with pytest.raises(UnusableProfile, match="an entry of its list has no end"):
        open_profile(path)


def test_large_trace_takes_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    operator = json.dumps(mark("Operator", "matmul dygraph", 5, 6, "7(C++)", args={"x": "y" * 2000}))
    begun, _, ended = trace(two_steps()).decode().rpartition("{}")
    with path.open("w") as file:
        file.write(begun)
        for _ in range(20):
            file.write(f"{operator}," * 500)
        file.write(f"{{}}{ended}")
    assert path.stat().st_size > 20_000_000
    tracemalloc.start()
    found = open_profile(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.steps == 2
    assert peak < path.stat().st_size / 2


_REAL = """\
import sys
import numpy
import paddle
from paddle.profiler import Profiler, ProfilerTarget, RecordEvent, export_chrome_tracing

class Head(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.product = paddle.nn.Linear(4, 4)

    def forward(self, x):
        return self.product(x)

class Pictures(paddle.io.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        return numpy.ones(4, "float32"), numpy.array([index % 4])

model = Head()
optimizer = paddle.optimizer.Adam(parameters=model.parameters())
profiler = Profiler(targets=[ProfilerTarget.CPU], scheduler=(2, 6), on_trace_ready=export_chrome_tracing(sys.argv[1]))
profiler.start()
for x, y in paddle.io.DataLoader(Pictures(), batch_size=8):
    loss = paddle.nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
    with RecordEvent("read the loss"):
        loss.item()
    profiler.step()
profiler.stop()
"""


def test_trace_that_paddle_has_written(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", _REAL, str(tmp_path)], check=True, capture_output=True, timeout=300)
    (path,) = tmp_path.glob("*.json")
    found = open_profile(path)
    assert (found.steps, found.device, found.notes) == (3, "cpu", ())
    assert set(found.classes) == {"Head", "Linear"}
    assert set(found.names) == {"read the loss"}
    events = [each for each in json.loads(path.read_text())["traceEvents"] if each.get("ph") == "X"]
    steps = sorted((each for each in events if each["cat"] == "ProfileStep"), key=lambda each: each["ts"])[1:]
    total = sum(step["dur"] for step in steps)
    for phase, kind in (("reader", "Dataloader"), ("backward", "Backward"), ("optimizer", "Optimization")):
        took = sum(each["dur"] for each in events if each["cat"] == kind and each["ts"] >= steps[0]["ts"])
        assert found.phases[phase] == pytest.approx(took / total, rel=0.02)
    assert 0 < found.classes["Linear"] <= found.classes["Head"] <= found.phases["forward"] < 1
    assert 0 < found.names["read the loss"] <= found.phases["gap"] <= found.phases["other"] < 1


# --- training logs


@pytest.mark.parametrize(
    "row",
    [
        # PaddleDetection
        "[11/25 10:00:00] ppdet.engine INFO: Epoch: [0] [ 20/100] learning_rate: 0.000100 loss: 2.9 eta: 0:05:00 "
        "batch_cost: 0.8000 data_cost: 0.2000 ips: 10.0000 images/s",
        # PaddleSeg, and as it was before
        "2026-11-25 10:00:00 [INFO]\t[TRAIN] epoch: 1, iter: 20/100, loss: 1.2000, lr: 0.010000, batch_cost: 0.8000, "
        "reader_cost: 0.20000, ips: 10.0000 samples/sec | ETA 00:05:00",
        "[TRAIN] epoch=1, iter=20/100, loss=1.2, lr=0.01, batch_cost=0.8, reader_cost=0.2, ips=10 samples/sec",
        # PaddleClas
        "[2026/11/25 10:00:00] ppcls INFO: [Train][Epoch 1/10][Iter: 20/100]lr(Momentum): 0.1, top1: 0.2, loss: 6.9, "
        "batch_cost: 0.80000s, reader_cost: 0.20000, ips: 10.00000 samples/s, eta: 0:05:00",
        # PaddleOCR
        "[2026/11/25 10:00:00] ppocr INFO: epoch: [1/10], global_step: 20, lr: 0.001, loss: 3.1, avg_reader_cost: "
        "0.20000 s, avg_batch_cost: 0.80000 s, avg_samples: 8.0, ips: 10.00000 samples/s, eta: 0:05:00",
        # PaddleNLP's and FleetX's scripts
        "[2026-11-25 10:00:00] [INFO] - global step 20, epoch: 0, batch: 19, loss: 8.1, avg_reader_cost: 0.2 sec, "
        "avg_batch_cost: 0.8 sec, avg_samples: 8.0, ips: 10.0 sequences/sec",
        # paddle.profiler, and a suite that writes the words apart
        " reader_cost: 0.20000 s batch_cost: 0.80000 s ips: 10.000 samples/s",
        "Epoch [1/10] | Step: [20/100] | reader cost: 0.20000s | batch cost: 0.80000s | loss: 0.1",
        "reader_cost: 200.0 ms, batch_cost: 0.8 s",
    ],
)
def test_log_of_a_suite(tmp_path: Path, row: str) -> None:
    path = tmp_path / "train.log"
    first = row.replace("0.8", "9.8").replace("0.2", "7.2")
    path.write_text("\n".join(["W1125 gpu_resources.cc:119] Please NOTE", first, *[row] * 4, ""]))
    found = open_profile(path)
    assert (found.made_by, found.steps, found.notes) == ("a training log", 4, ())
    assert found.phases == pytest.approx({"reader": 0.25})


def test_rows_of_an_evaluation_do_not_count(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    train = "[Train][Epoch 1/2] batch_cost: 1.0s, reader_cost: 0.1s"
    evaluation = "[Eval][Epoch 1] batch_cost: 1.0s, reader_cost: 0.9s"
    path.write_text(f"{train}\n" * 3 + f"{evaluation}\n" * 5 + f"evaluated before, now train: {train}\r{train}\n")
    found = open_profile(path)
    assert found.phases == pytest.approx({"reader": 0.1})
    assert found.steps == 4


def test_numbers_of_a_log_that_no_time_has(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text("batch_cost: 1.0 reader_cost: 0.5\n" * 4 + f"batch_cost: {'9' * 400} reader_cost: nan\n" * 4)
    assert open_profile(path).phases == {"reader": 0.5}


def test_log_of_a_few_rows_and_one_without_reader_cost(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text("batch_cost: 1.0 reader_cost: 0.5\n")
    assert open_profile(path, "train.log").notes == ("train.log has only 1 row with reader_cost: log some more",)
    path.write_text("avg_batch_cost: 0.5 sec, speed: 2.00 step/s, ips: 16 tokens/s\n" * 9)
    found = open_profile(path, "train.log")
    assert found.phases == {}
    assert found.notes == ("train.log has batch_cost but no reader_cost, so it does not show what a finding can gain",)
    path.write_text("batch_cost: 0.0 reader_cost: 0.0\n" * 9)
    with pytest.raises(UnusableProfile, match="its batch_cost is 0 everywhere"):
        open_profile(path)


# --- Nsight Systems


def test_nsys_export(tmp_path: Path) -> None:
    found = open_profile(write_nsys(tmp_path / "report.sqlite", nsys_tables()))
    assert (found.steps, found.device, found.notes) == (2, "gpu", ())
    shares = {phase: found.phases[phase] for phase in ("reader", "read", "copy", "wait")}
    assert shares == pytest.approx({"reader": 0.15, "read": 0.25, "copy": 0.15, "wait": 0.05})
    assert found.names == pytest.approx({"load data": 0.15})


def test_nsys_export_with_few_tables(tmp_path: Path) -> None:
    tables = nsys_tables()
    runtime = tables["CUPTI_ACTIVITY_KIND_RUNTIME"]
    waits = [{"correlationId": 10 * step + 3, "start": 0, "end": 1} for step in range(3)]
    few = {"CUPTI_ACTIVITY_KIND_RUNTIME": runtime, "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": waits}
    found = open_profile(write_nsys(tmp_path / "few.sqlite", few), "few.sqlite")
    # The calls last from 150 to 2850, so from the middle, 1500, on two waits of 50 lie in 1350.
    assert found.phases == pytest.approx({"wait": 100 / 1350})
    assert found.notes[0].startswith("no range in few.sqlite names the steps, so shares are of the second half")
    only = {name: rows for name, rows in tables.items() if name == "NVTX_EVENTS"}
    with pytest.raises(UnusableProfile, match="it holds no CUDA calls of the host"):
        open_profile(write_nsys(tmp_path / "only.sqlite", only))
    with pytest.raises(UnusableProfile, match="it holds no CUDA calls of the host"):
        open_profile(write_nsys(tmp_path / "none.sqlite", {"CUPTI_ACTIVITY_KIND_RUNTIME": []}))


def test_copies_of_another_process_are_not_those_of_the_thread(tmp_path: Path) -> None:
    tables = nsys_tables()
    for each in tables["CUPTI_ACTIVITY_KIND_MEMCPY"]:
        each["globalPid"] += 1 << 24
    found = open_profile(write_nsys(tmp_path / "report.sqlite", tables))
    assert "read" not in found.phases


def test_views_and_odd_values_in_an_export(tmp_path: Path) -> None:
    path = write_nsys(tmp_path / "report.sqlite", {"StringIds": []})
    database = sqlite3.connect(path)
    database.execute("CREATE VIEW CUPTI_ACTIVITY_KIND_RUNTIME AS SELECT 1 start, 2 end, 3 globalTid, 4 correlationId")
    database.commit()
    database.close()
    with pytest.raises(UnusableProfile, match="it holds no CUDA calls of the host"):
        open_profile(path)
    computed = tmp_path / "computed.sqlite"
    database = sqlite3.connect(computed)
    columns = "end INT, globalTid INT, correlationId INT, start INT GENERATED ALWAYS AS (length(zeroblob(900000000)))"
    database.execute(f"CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME ({columns})")
    database.commit()
    database.close()
    with pytest.raises(UnusableProfile, match="it holds no CUDA calls of the host"):
        open_profile(computed)
    tables = nsys_tables()
    tables["CUPTI_ACTIVITY_KIND_RUNTIME"].append({"start": "x", "end": "y", "globalTid": 1, "correlationId": "z"})
    tables["NVTX_EVENTS"].append({"start": 1, "end": "late", "text": b"\xff", "globalTid": "me"})
    assert open_profile(write_nsys(tmp_path / "odd.sqlite", tables)).steps == 2


# --- none of them


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "it is empty"),
        (b" \n\n", "it is empty"),
        (b"epoch 1 loss 0.3\n", "it is not a profile that perflint knows"),
        (b'{"loss": 3}', "it is not a profile that perflint knows"),
        (b'{"format": "perflint-profile", ', "it is damaged (no valid JSON)"),
        (b'{"format": "perflint-profile", "x": ' + b"[" * 200_000, "it is damaged (no valid JSON)"),
        (b"SQLite format 3\0" + b"junk" * 999, "it is damaged ("),
        (b"\x1f\x8b\x08 packed", "it is compressed: decompress it first"),
        (b"\x0a\x05proto\0\0", "it is not text: give what export_chrome_tracing of Paddle Profiler writes"),
    ],
)
def test_files_that_are_no_profile(tmp_path: Path, data: bytes, problem: str) -> None:
    path = tmp_path / "file.json"
    path.write_bytes(data)
    with pytest.raises(UnusableProfile) as caught:
        open_profile(path)
    assert str(caught.value).startswith(problem)


def test_what_is_no_file(tmp_path: Path) -> None:
    for path in (tmp_path / "none.json", tmp_path, Path("/dev/zero"), Path("a\0b")):
        with pytest.raises(UnusableProfile, match="it cannot be read"):
            open_profile(path)
