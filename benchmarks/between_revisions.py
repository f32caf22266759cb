"""What a check costs at two revisions of perflint: CPU seconds per 1,000 lines and memory, whole processes, in turn.

    python benchmarks/between_revisions.py 431f11c HEAD --trees PaddleDetection PaddleSeg --runs 3

Each revision is taken from git into a directory of its own, so nothing that is not committed is measured.  One process
checks (``--jobs 1``), with all rules that the revision has on by default, or with all that it has (``--all``).  Prints
the medians and writes them, with the machine and the versions, to the file named by ``--output``.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import platform
import statistics
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import NamedTuple

CHECK = ["-m", "perflint", "check", "--isolated", "--exit-zero", "--quiet", "--no-cache", "--jobs", "1", "."]
ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    options = _options()
    with tempfile.TemporaryDirectory() as scratch:
        revisions = {name: unpacked(name, Path(scratch) / str(at)) for at, name in enumerate(options.revisions)}
        result = {tree.name: _compared(tree.resolve(), revisions, options) for tree in options.trees}
    content = {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        "revisions": {name: commit(name) for name in options.revisions},
        "runs": options.runs,
        "rules": "all" if options.all else "by default",
        "trees": result,
    }
    text = json.dumps(content, indent=1) + "\n"
    print(text, end="")
    if options.output:
        options.output.write_text(text, encoding="utf-8")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("revisions", nargs=2, help="what git calls them; the second is divided by the first")
    parser.add_argument("--trees", type=Path, nargs="+", required=True, help="checkouts of Paddle code")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--all", action="store_true", help="check with all rules, those off by default too")
    parser.add_argument("--output", type=Path)
    return parser.parse_args()


def commit(revision: str) -> str:
    """The short hash of what git calls ``revision``."""
    run = subprocess.run(
        ["git", "rev-parse", "--short", revision], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return run.stdout.strip()


def unpacked(revision: str, directory: Path) -> Path:
    """Lay out the files of a revision in a directory, so that nothing uncommitted is measured."""
    archive = subprocess.run(["git", "archive", revision], cwd=ROOT, capture_output=True, check=True)
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(directory)
    return directory


class Cost(NamedTuple):
    """What one process took: CPU seconds, and MiB of memory at its peak."""

    seconds: float
    memory: float


def _compared(tree: Path, revisions: dict[str, Path], options: argparse.Namespace) -> dict[str, object]:
    thousands = sum(path.read_bytes().count(b"\n") for path in tree.rglob("*.py")) / 1000
    measured: dict[str, list[Cost]] = {name: [] for name in revisions}
    for _ in range(options.runs):
        for name, directory in revisions.items():
            measured[name].append(_cost(tree, directory, options.all))
    seconds = {name: statistics.median(each.seconds for each in costs) for name, costs in measured.items()}
    memory = {name: statistics.median(each.memory for each in costs) for name, costs in measured.items()}
    return {
        "lines": round(thousands * 1000),
        "cpu seconds": {name: [round(each.seconds, 2) for each in costs] for name, costs in measured.items()},
        "cpu ms per 1,000 lines": {name: round(1000 * median / thousands, 1) for name, median in seconds.items()},
        "ratio": _ratio(seconds),
        "peak memory, MiB": {name: round(median) for name, median in memory.items()},
        "ratio of memory": _ratio(memory),
    }


def _ratio(medians: dict[str, float]) -> float:
    first, second = medians.values()
    return round(second / first, 2)


def _cost(tree: Path, directory: Path, all_rules: bool) -> Cost:
    environment = {**os.environ, "PYTHONPATH": str(directory), "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": ""}
    command = [sys.executable, *CHECK, *(["--select", "ALL"] if all_rules else [])]
    process = subprocess.Popen(command, cwd=tree, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    _, status, usage = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status):
        raise SystemExit(f"{directory}: perflint ended with {os.waitstatus_to_exitcode(status)} on {tree}")
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


if __name__ == "__main__":
    main()
