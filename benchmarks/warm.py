"""Time perflint cold and warm (nothing changed since the last run) beside Ruff without its cache, in turn.

    python benchmarks/warm.py PaddleDetection --runs 5

Whole processes, wall and CPU seconds; the cache is one of its own in a temporary directory.  Prints the medians and
writes them, with the machine and the versions, to the file named by ``--output``.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CHECK = ["check", "--isolated", "--exit-zero", "--quiet"]


def main() -> None:
    options = _options()
    perflint = shlex.split(options.perflint)
    candidates = {
        "perflint cold": [*perflint, *CHECK, "--no-cache", "."],
        "perflint warm": [*perflint, *CHECK, "."],
        "ruff --no-cache": [*shlex.split(options.ruff), *CHECK, "--no-cache", "."],
        "python -c pass": [sys.executable, "-c", "pass"],
        "perflint --version": [*perflint, "--version"],
    }
    with tempfile.TemporaryDirectory() as place:
        environment = {**os.environ, "PERFLINT_CACHE_DIR": place}
        _run(candidates["perflint warm"], options.tree, environment)
        runs: dict[str, list[tuple[float, float]]] = {name: [] for name in candidates}
        for _ in range(options.runs):
            for name, command in candidates.items():
                runs[name].append(_run(command, options.tree, environment))
    wall = {name: round(statistics.median(item[0] for item in items), 3) for name, items in runs.items()}
    result = {
        "tree": options.tree.name,
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        "versions": {name: _version(getattr(options, name)) for name in ("perflint", "ruff")},
        "wall": wall,
        "cpu": {name: round(statistics.median(item[1] for item in items), 3) for name, items in runs.items()},
        "warm against ruff": round(wall["perflint warm"] / wall["ruff --no-cache"], 2),
        "version against pass": round(wall["perflint --version"] / wall["python -c pass"], 2),
    }
    text = json.dumps(result, indent=1) + "\n"
    print(text, end="")
    if options.output:
        options.output.write_text(text, encoding="utf-8")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=Path, help="a checkout of Paddle code, such as PaddleDetection")
    parser.add_argument("--perflint", default=f"{sys.executable} -m perflint")
    parser.add_argument("--ruff", default=f"{sys.executable} -m ruff")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--output", type=Path)
    return parser.parse_args()


def _run(command: list[str], tree: Path, environment: dict[str, str]) -> tuple[float, float]:
    started = time.perf_counter()
    process = subprocess.Popen(command, cwd=tree, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    _, status, usage = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status) not in (0, 1):
        raise SystemExit(f"{shlex.join(command)} ended with {os.waitstatus_to_exitcode(status)}")
    return time.perf_counter() - started, usage.ru_utime + usage.ru_stime


def _version(command: str) -> str:
    run = subprocess.run([*shlex.split(command), "--version"], capture_output=True, text=True, check=True)
    return run.stdout.strip().splitlines()[0]


if __name__ == "__main__":
    main()
