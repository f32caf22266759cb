"""Makes both variants of every script, and has other processes train and count them."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from .table import FOLDER, Row, rows
from .variants import fixed

ROOT = FOLDER.parents[1]
_JOBS = {"run": "one", "build": "one", "two processes": "two"}
Counts = dict[str, dict[str, dict[str, float]]]
"""By the code of the rule, ``before`` or ``after``, and the name of what is counted: how often, at each step."""


def count(folder: Path, codes: Iterable[str] = ()) -> Counts:
    """Count what the scripts of these rules do, of all rules where none is named.

    Args:
        folder: an empty folder, for the scripts and the figures.
        codes: codes of rules.

    Raises:
        RuntimeError: a script fails; the text says which and why.
    """
    chosen = [row for code, row in rows().items() if not codes or code in set(codes)]
    for row in chosen:
        _write(row, folder / _JOBS[row.way])
    found: Counts = {}
    if any(row.way != "two processes" for row in chosen):
        found.update(_one_process(folder))
    if any(row.way == "two processes" for row in chosen):
        found.update(_two_processes(folder))
    return dict(sorted(found.items()))


def _write(row: Row, folder: Path) -> None:
    texts = {"before": row.script.read_text(encoding="utf-8"), "after": fixed(row.script, row.code)}
    for side, text in texts.items():
        path = folder / row.code / side / row.script.name
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")


def _one_process(folder: Path) -> Counts:
    process = _start(folder / "one", folder / "one.json", {})
    return _wait(process, folder / "one.json")


def _two_processes(folder: Path) -> Counts:
    """The same in two processes that train together; what both have done is added up."""
    ports = [_free_port() for _ in range(2)]
    addresses = [f"127.0.0.1:{port}" for port in ports]
    together = {"PADDLE_TRAINERS_NUM": "2", "PADDLE_TRAINER_ENDPOINTS": ",".join(addresses)}
    running = []
    for rank, address in enumerate(addresses):
        own = {"PADDLE_TRAINER_ID": str(rank), "PADDLE_CURRENT_ENDPOINT": address, "PADDLE_DISTRI_BACKEND": "gloo"}
        running.append(
            (_start(folder / "two", folder / f"two{rank}.json", {**together, **own}), folder / f"two{rank}.json")
        )
    first, second = (_wait(*each) for each in running)
    return {
        code: {
            side: dict(sorted((Counter(counts) + Counter(second[code][side])).items()))
            for side, counts in sides.items()
        }
        for code, sides in first.items()
    }


def _free_port() -> int:
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        port: int = opened.getsockname()[1]
        return port


def _start(jobs: Path, result: Path, more: dict[str, str]) -> subprocess.Popen[str]:
    """Start a process that counts the scripts in ``jobs`` and puts what it counts into ``result``."""
    path = os.pathsep.join((str(ROOT), str(ROOT / "benchmarks"), os.environ.get("PYTHONPATH", "")))
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", **more}
    return subprocess.Popen(
        [sys.executable, "-m", "tests.counted.running", str(jobs), str(result)],
        env=environment, cwd=jobs.parent, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip


def _wait(process: subprocess.Popen[str], result: Path) -> Counts:
    output, _ = process.communicate()
    if process.returncode:
        raise RuntimeError(f"counting fails:\n{output[-6000:]}")
    found: Counts = json.loads(result.read_text(encoding="utf-8"))
    return found
