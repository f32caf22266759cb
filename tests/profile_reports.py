"""A made-up profile whose figures can be worked out by hand: a step of 20 ms."""

from __future__ import annotations

from typing import Any

from perflint.bench.runner.watched_calls import PHASES
from perflint.profile.profile_report import PhaseTime, ProfileEvent, ProfileReport, StepTimes

MS = {
    "reader": 8.0, "forward": 2.0, "backward": 3.0, "optimizer": 1.0, "read": 0.5, "copy": 0.5, "save": 4.0, "log": 0.0,
    "other": 1.0,
}  # fmt: skip


def event(path: str, line: int, kind: str, ms: float, **changes: Any) -> ProfileEvent:
    values: dict[str, Any] = {"what": "what", "times": 1.0, "phase": kind}
    return ProfileEvent(path=path, line=line, kind=kind, ms=ms, share=ms / 20, **{**values, **changes})


def events() -> list[ProfileEvent]:
    return [
        event(
            "train.py", 64, "reader", 8.0,
            what="DataLoader", note="0 workers, made at data.py:9", source="for x in loader:",
        ),
        event("train.py", 80, "save", 4.0, what="paddle.save", times=0.1),
        event("train.py", 70, "backward", 3.0, what="Tensor.backward"),
        event("lib/net.py", 5, "forward", 2.0, what="forward", note="Net", via="paddle.hapi.model.fit"),
        event("train.py", 71, "optimizer", 1.0, what="Adam.step"),
        event("train.py", 64, "other", 1.0, what="other code", times=0.0, note="after this line"),
        event("train.py", 73, "read", 0.4, what="Tensor.item", times=2.0),
        event("train.py", 66, "copy", 0.5, what="paddle.to_tensor", note="a number"),
        event("train.py", 90, "sized", 0.1, what="paddle.nonzero", phase="read", evaluating=True),
    ]  # fmt: skip


def read(data: dict[str, Any]) -> ProfileReport:
    """The report whose JSON this is."""
    parts = {
        "step_ms": StepTimes.from_json(data["step_ms"]),
        "phases": {name: PhaseTime.from_json(phase) for name, phase in data["phases"].items()},
        "events": [ProfileEvent.from_json(event) for event in data["events"]],
    }
    return ProfileReport.from_json({**data, **parts})


def profile(**changes: Any) -> ProfileReport:
    values: dict[str, Any] = {
        "made": "2026-11-25T23:00:00+00:00",
        "script": "train.py",
        "arguments": ["--epochs", "2"],
        "python": "3.11.7",
        "paddle": "3.3.1",
        "device": "cpu",
        "warmup": 10,
        "steps": 50,
        "step_ms": StepTimes(20.0, 19.0, 25.0),
        "ips": 400.0,
        "phases": {name: PhaseTime(MS[name], MS[name] / 20) for name in PHASES},
        "events": events(),
        "files": {"train.py": {"sha256": "0" * 64}},
        "machine": "2 cores",
    }
    return ProfileReport(**{**values, **changes})
