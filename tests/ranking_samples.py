"""What the tests of ``perflint check --profile`` share: a training to be checked, and profiles of it of each kind."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

TRAIN = """\
import paddle
from paddle import nn
from paddle.io import DataLoader


class Head(nn.Layer):
    def forward(self, x):
        return x * float(x.max())


def train(model: nn.Layer, dataset, optimizer):
    loader = DataLoader(dataset, batch_size=8, num_workers=0)
    for step, (x, y) in enumerate(loader):
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        total = loss.item()
        best = loss.numpy()
        paddle.save(model.state_dict(), "latest.pdparams")


train(Head(), [], paddle.optimizer.Adam())
"""


def row_of(part: str, text: str = TRAIN) -> int:
    """The row (from 1) of the only occurrence of a text."""
    assert text.count(part) == 1
    return text[: text.index(part)].count("\n") + 1


def event(part: str, kind: str, share: float, phase: str = "", path: str = "train.py") -> dict[str, Any]:
    """An event in a file of ``perflint profile``, at the row of a part of the training."""
    line = {"path": path, "line": row_of(part), "kind": kind, "what": f"a {kind}", "phase": phase or kind}
    return {**line, "times": 1.0, "ms": 10 * share, "share": share}


def recorded(
    *events: Mapping[str, Any],
    phases: Mapping[str, float] | None = None,
    files: Mapping[str, str] | None = None,
    **keys: Any,
) -> dict[str, Any]:
    """A file of ``perflint profile``; the phases are what the events add up to, if they are not given."""
    shares: dict[str, float] = {}
    for each in events:
        shares[each["phase"]] = shares.get(each["phase"], 0.0) + each["share"]
    texts = {"train.py": TRAIN} if files is None else files
    return {
        "format": "perflint-profile",
        "version": 1,
        "made": "2026-11-25T12:00:00",
        "script": "train.py",
        "arguments": [],
        "python": "3.11.7",
        "paddle": "3.3.1",
        "device": "cpu",
        "warmup": 10,
        "steps": 50,
        "step_ms": {"mean": 10.0, "median": 10.0, "p95": 11.0},
        "ips": 800.0,
        "phases": {name: {"ms": 10 * share, "share": share} for name, share in (phases or shares).items()},
        "events": [*events],
        "files": {path: {"sha256": hashlib.sha256(text.encode()).hexdigest()} for path, text in texts.items()},
        **keys,
    }


def write_json(path: Path, data: Any) -> Path:
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


def mark(kind: str, name: str, start: float, end: float, tid: str = "7(Python)", **more: Any) -> dict[str, Any]:
    """An event as Paddle's chrometracing_logger writes it; times in microseconds."""
    took = end - start
    named = f"{name}[{took:.3f} us]"
    return {"name": named, "pid": 7, "tid": tid, "ts": start, "dur": took, "ph": "X", "cat": kind, "args": {}, **more}


def call(name: str, start: float, end: float, correlation: int) -> dict[str, Any]:
    """A call to the CUDA runtime, as it stands in a trace."""
    return mark("CudaRuntime", name, start, end, "7(C++)", args={"correlation id": correlation})


def copied(direction: str, correlation: int) -> dict[str, Any]:
    """The copy that such a call has started: an event of a stream of the device."""
    return mark("Memcpy", f"MEMCPY_{direction}", 0, 1, tid="0", args={"correlation id": correlation})


def trace(events: Iterable[Mapping[str, Any]]) -> bytes:
    """A trace as Paddle writes one: the list ends with an empty object."""
    data = {"displayTimeUnit": "ms", "schemaVersion": "1.0.2", "span_index": "0", "traceEvents": [*events, {}]}
    return json.dumps({**data, "ExtraInfo": {"7": "MainThread"}}).encode()


def two_steps() -> list[dict[str, Any]]:
    """Two steps of 100 us: 40 of reading, 30 of forward (Head 20 of them), 10 of backward and of optimizer."""
    events = []
    for number, at in enumerate((0, 100)):
        events += [
            mark("ProfileStep", f"ProfileStep#{number}", at, at + 100),
            mark("Dataloader", "_DataLoaderIterSingleProcess", at, at + 40),
            mark("Forward", "Net", at + 40, at + 70),
            mark("Forward", "Head", at + 45, at + 65),
            mark("Operator", "matmul dygraph", at + 46, at + 50, "7(C++)"),
            mark("Backward", "Gradient Backward", at + 70, at + 80),
            mark("Optimization", "Optimization Step", at + 80, at + 90),
            mark("PythonUserDefined", "read the loss", at + 92, at + 97),
        ]
    return events


THREAD = 0x7_000_007_000_000 + 11
"""A thread's number as Nsight Systems writes it: the process stands in the bits from the 24th on."""
_TABLES = {
    "CUPTI_ACTIVITY_KIND_RUNTIME": (
        *("start", "end", "eventClass", "globalTid", "correlationId", "nameId", "returnValue"),
    ),
    "CUPTI_ACTIVITY_KIND_KERNEL": (
        *(
            "start",
            "end",
            "deviceId",
            "contextId",
            "streamId",
            "correlationId",
            "globalPid",
            "demangledName",
            "shortName",
        ),
    ),
    "CUPTI_ACTIVITY_KIND_MEMCPY": (
        *("start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid", "bytes", "copyKind"),
    ),
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": (
        *("start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid", "syncType", "eventId"),
    ),
    "NVTX_EVENTS": (
        *("start", "end", "eventType", "rangeId", "category", "color", "text", "globalTid", "endGlobalTid", "textId"),
    ),
    "StringIds": ("id", "value"),
}
"""Columns of tables of an export, in the words of NVIDIA's description of the schema."""


def write_nsys(path: Path, tables: Mapping[str, Sequence[Mapping[str, Any]]]) -> Path:
    """An export with these rows; a table that is not named is not there, and a column without a value holds 0."""
    database = sqlite3.connect(path)
    for table, rows in tables.items():
        columns = _TABLES[table]
        kinds = ("TEXT" if column in ("value", "text") else "INTEGER" for column in columns)
        given = ", ".join(f'"{column}" {kind}' for column, kind in zip(columns, kinds, strict=True))
        database.execute(f"CREATE TABLE {table} ({given})")
        empty = dict.fromkeys(columns, 0) | ({"text": None, "textId": None} if "textId" in columns else {})
        values = [tuple((empty | dict(row)).values()) for row in rows]
        database.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(columns))})", values)
    database.commit()
    database.close()
    return path


def nsys_tables() -> dict[str, list[dict[str, Any]]]:
    """Three steps of 1000 ns, with a read of 200, a copy of 100 and a wait of 50; the first one is warming up."""
    names = {1: "cudaLaunchKernel_v7000", 2: "cudaMemcpyAsync_v3020", 3: "cudaStreamSynchronize_v3020", 4: "load data"}
    runtime: list[dict[str, Any]] = []
    copies: list[dict[str, Any]] = []
    ranges: list[dict[str, Any]] = []
    process = THREAD - THREAD % (1 << 24)
    for step in range(3):
        at, ids = 1000 * step, 10 * step
        ranges.append({"start": at, "end": at + 1000, "eventType": 59, "text": str(step), "globalTid": THREAD})
        ranges.append({"start": at, "end": at + 150, "eventType": 59, "textId": 4, "globalTid": THREAD})
        for number, (name, start, end) in enumerate(((1, 150, 160), (2, 300, 500), (2, 600, 700), (3, 800, 850))):
            placed = {"start": at + start, "end": at + end, "globalTid": THREAD}
            runtime.append({**placed, "nameId": name, "correlationId": ids + number})
        for number, kind in ((1, 2), (2, 1)):
            placed = {"start": at + 300, "end": at + 310, "globalPid": process}
            copies.append({**placed, "correlationId": ids + number, "copyKind": kind})
    return {
        "CUPTI_ACTIVITY_KIND_RUNTIME": runtime,
        "CUPTI_ACTIVITY_KIND_MEMCPY": copies,
        "NVTX_EVENTS": ranges,
        "StringIds": [{"id": number, "value": name} for number, name in names.items()],
    }
