"""What the benchmark scripts share: timing in turns, and a result file that says where it was made."""

from __future__ import annotations

import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy
import paddle

RESULTS = Path(__file__).resolve().parent / "results"


def in_turns(runs: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, float]:
    """Run the candidates in turns (A B A B ...), so that a busy machine disturbs all alike; the median of each.

    Each candidate returns its own measurement in whatever unit it likes.
    """
    measured: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            measured[name].append(run())
    return {name: statistics.median(values) for name, values in measured.items()}


def microseconds(action: Callable[[], object], calls: int) -> float:
    """Mean time of one call of ``action`` in microseconds, over ``calls`` calls after one warm-up."""
    action()
    start = time.perf_counter()
    for _ in range(calls):
        action()
    return (time.perf_counter() - start) / calls * 1e6


def write(results: Mapping[str, Any]) -> None:
    """Write ``results/<script>.json`` beside the scripts, and print it."""
    script = Path(sys.argv[0])
    content = {
        "command": " ".join(["python", f"benchmarks/{script.name}", *sys.argv[1:]]),
        "machine": machine(),
        "versions": {
            "python": platform.python_version(),
            "paddlepaddle": paddle.__version__,
            "numpy": numpy.__version__,
        },
        "results": rounded(results),
    }
    text = json.dumps(content, indent=2) + "\n"
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{script.stem}.json").write_text(text, encoding="utf-8")
    print(text, end="")


def machine() -> dict[str, Any]:
    """The processor, its cores, the memory and the device that Paddle uses here."""
    return {
        "cpu": cpu_model(),
        "cores": os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "system": f"{platform.system()} {platform.machine()}",
        "device": paddle.device.get_device(),
    }


def cpu_model() -> str:
    """The processor's name as Linux gives it, else what Python knows."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def rounded(value: Any) -> Any:
    """Floats to three significant digits: more would be noise."""
    if isinstance(value, float):
        return float(f"{value:.3g}")
    if isinstance(value, Mapping):
        return {key: rounded(item) for key, item in value.items()}
    return value
