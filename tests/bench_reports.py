"""Made-up bench reports whose figures can be worked out by hand, repositories to measure in, and a clock for limits."""

from __future__ import annotations

import itertools
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from perflint.bench import measure, script_run
from perflint.bench.results import BenchReport, Comparison, Steps, Variant

FIX = "PPF201 train.py:109"


def run(seconds: Sequence[float], reader: float = 0.0, **changes: Any) -> Steps:
    """A run of steps of 8 samples each, every one of which waits ``reader`` seconds for the loader."""
    values: dict[str, Any] = {
        "batch_s": list(seconds),
        "reader_s": [reader] * len(seconds),
        "samples": [8] * len(seconds),
        "losses": [1.5] * len(seconds),
        "peak_memory_mib": 512.0,
        "device": "cpu",
    }
    return Steps(**{**values, **changes})


def variant(name: str, *runs: Steps, places: Sequence[str] = (), fixes: Sequence[str] = (), event: str = "") -> Variant:
    return Variant(name=name, codes=[], places=list(places), runs=list(runs), fixes=list(fixes), event=event)


def before() -> Variant:
    """32 samples in 0.8 s (40 a second), then in 1 s (32); their mean is the root of 1280; 225 and 110 ms a step."""
    return variant("before", run([0.2] * 4, 0.1), run([0.25] * 4, 0.12))


def after(name: str = FIX) -> Variant:
    """32 samples in 0.4 s (80 a second), then 32 in 0.6 s (53.3); 125 ms and 20 ms a step."""
    return variant(name, run([0.1] * 4, 0.02), run([0.15] * 4, 0.02))


def compared(low: float, high: float, name: str = FIX, same_losses: bool | None = True, **changes: Any) -> Comparison:
    """A comparison whose ratio lies in the middle of its interval, and whose milliseconds nobody knows."""
    return Comparison(
        variant=name,
        ips_before=40.0,
        ips_after=40.0 * (low + high) / 2,
        ratio=(low + high) / 2,
        low=low,
        high=high,
        same_losses=same_losses,
        **changes,
    )


def report(variants: Sequence[Variant], comparisons: Sequence[Comparison] = (), **changes: Any) -> BenchReport:
    values: dict[str, Any] = {
        "script": "train.py",
        "arguments": ["--epochs", "2"],
        "machine": "2 cores",
        "versions": {"paddle": "3.3.1"},
        "date": "2026-11-22",
        "warmup": 3,
        "steps": 4,
        "rounds": 2,
        "variants": list(variants),
        "comparisons": list(comparisons),
        "notes": [],
    }
    return BenchReport(**{**values, **changes})


def degenerate() -> dict[str, BenchReport]:
    """Reports with as little in them as there can be."""
    return {
        "no variant": report([]),
        "no run": report([variant("before")]),
        "no step": report([variant("before", run([]))]),
        "no fix": report([before()]),
        "one step": report([variant("before", run([0.1])), variant(FIX, run([0.1]))], [compared(1, 1)]),
        "one round": report([variant("before", run([0.1, 0.2], 0.1))], rounds=1),
        "no time": report([variant("before", run([0.0, 0.0]))]),
        "all waiting": report([variant("before", run([0.1], 0.1))]),
        "rounds missing": report([before(), variant(FIX, run([0.1]))], [compared(0.5, 4)]),
        "compared, but no run": report([variant(FIX)], [compared(0.5, 4)]),
        "no end": report([before(), after()], [compared(0.0, float("inf"))]),
        "no ratio": report([before(), after()], [compared(float("nan"), float("nan"))]),
        "not a number": report([variant("before", run([0.1], losses=[float("nan")]))]),
        "many variants": report([before(), *(after(f"fix {at}") for at in range(12))]),
    }


def git(directory: Path, *arguments: str) -> None:
    """Run git as somebody who can commit."""
    who = ("-c", "user.name=A", "-c", "user.email=a@b.example", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *who, *arguments], cwd=directory, check=True, capture_output=True)


def committed(directory: Path, **files: str) -> Path:
    """A repository with these Python files in its one commit."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (directory / f"{name}.py").write_text(text)
    git(directory, "init", "-q")
    git(directory, "add", ".")
    git(directory, "commit", "-qm", "first")
    return directory


def passes_after(seen: Path, seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop the clock of ``perflint bench`` until a file is there; then so many seconds pass at each look at it.

    A script that makes the file where it is meant to be stopped gets there, however busy the machine is.
    """
    looks = itertools.count(1)
    clock = SimpleNamespace(monotonic=lambda: seconds * next(looks) if seen.exists() else 0.0, sleep=time.sleep)
    monkeypatch.setattr(script_run, "time", clock)
    monkeypatch.setattr(measure, "time", clock)
