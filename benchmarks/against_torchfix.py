"""Time a cold perflint run beside TorchFix on the same tree, in turn, as whole processes.

TorchFix looks for ``torch``, so it gets a copy of the tree in which ``paddle`` is spelled ``torch``: both then parse
and scan the same number of lines.  It pins an older LibCST, so install it in an environment of its own:

    python -m venv /tmp/torchfix && /tmp/torchfix/bin/pip install torchfix
    python benchmarks/against_torchfix.py TREE --torchfix /tmp/torchfix/bin/torchfix --runs 3

Prints medians and writes them, with the machine and the versions, to the file named by ``--output``.
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
from dataclasses import asdict, dataclass
from pathlib import Path

PERFLINT = ["--isolated", "--no-cache", "--exit-zero", "--quiet"]
FIELDS = ("wall", "cpu", "peak")


@dataclass(frozen=True)
class Cost:
    """One run: wall and CPU seconds, peak memory of its largest process in MiB."""

    wall: float
    cpu: float
    peak: float


def main() -> None:
    options = _options()
    tree = options.tree.resolve()
    with tempfile.TemporaryDirectory() as scratch:
        paddle, torch = Path(scratch) / "paddle", Path(scratch) / "torch"
        lines = _copy(tree, paddle, rename=False)
        _copy(tree, torch, rename=True)
        commands = {
            "perflint": ([*shlex.split(options.perflint), "check", *PERFLINT, "."], paddle),
            "torchfix": ([*shlex.split(options.torchfix), "--select", "ALL", "."], torch),
        }
        costs: dict[str, list[Cost]] = {name: [] for name in commands}
        for turn in range(options.runs):
            for name, (command, directory) in commands.items():
                cost = _measure(command, directory)
                costs[name].append(cost)
                figures = f"{cost.wall:.1f} s wall, {cost.cpu:.1f} s CPU, {cost.peak:.0f} MiB"
                print(f"run {turn + 1} {name}: {figures}", flush=True)
    result = _summary(costs, lines, options, tree)
    print(json.dumps(result["ratio"], indent=1))
    if options.output:
        options.output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=Path, help="a checkout of Paddle code, such as PaddleDetection")
    parser.add_argument("--perflint", default=f"{sys.executable} -m perflint")
    parser.add_argument("--torchfix", default="torchfix")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--output", type=Path)
    return parser.parse_args()


def _copy(tree: Path, target: Path, rename: bool) -> int:
    """Copy the Python files of a tree that Python can parse; the number of lines in them."""
    lines = 0
    for path in sorted(tree.rglob("*.py")):
        text = path.read_text(encoding="utf-8", errors="replace")
        try:
            compile(text, str(path), "exec", dont_inherit=True, flags=0x400)
        except (SyntaxError, ValueError):
            continue  # TorchFix ends at the first file that does not parse
        lines += text.count("\n")
        copy = target / path.relative_to(tree)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(text.replace("paddle", "torch") if rename else text, encoding="utf-8")
    return lines


def _measure(command: list[str], directory: Path) -> Cost:
    started = time.perf_counter()
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    process = subprocess.Popen(
        command, cwd=directory, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment
    )
    _, _, usage = os.wait4(process.pid, 0)
    return Cost(time.perf_counter() - started, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def _summary(costs: dict[str, list[Cost]], lines: int, options: argparse.Namespace, tree: Path) -> dict[str, object]:
    median = {
        name: {field: round(statistics.median(getattr(cost, field) for cost in runs), 2) for field in FIELDS}
        for name, runs in costs.items()
    }
    return {
        "tree": tree.name,
        "lines": lines,
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        "versions": {name: _version(getattr(options, name)) for name in costs},
        "runs": {name: [asdict(cost) for cost in runs] for name, runs in costs.items()},
        "median": median,
        "ratio": {field: round(median["torchfix"][field] / median["perflint"][field], 1) for field in FIELDS},
    }


def _version(command: str) -> str:
    run = subprocess.run([*shlex.split(command), "--version"], capture_output=True, text=True, check=False)
    return (run.stdout + run.stderr).strip().splitlines()[0] if run.stdout or run.stderr else "unknown"


if __name__ == "__main__":
    main()
