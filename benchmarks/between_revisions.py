"""What a check costs at two revisions of perflint: CPU seconds per 1,000 lines, whole processes, in turn.

    python benchmarks/between_revisions.py 431f11c HEAD --trees PaddleDetection PaddleSeg --runs 3

Each revision is taken from git into a directory of its own, so nothing that is not committed is measured.  One process
checks (``--jobs 1``), with all rules that the revision has on by default.  Prints the medians and writes them, with the
machine and the versions, to the file named by ``--output``.
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

CHECK = ["-m", "perflint", "check", "--isolated", "--exit-zero", "--quiet", "--no-cache", "--jobs", "1", "."]
ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    options = _options()
    with tempfile.TemporaryDirectory() as scratch:
        revisions = {name: unpacked(name, Path(scratch) / str(at)) for at, name in enumerate(options.revisions)}
        result = {tree.name: _compared(tree.resolve(), revisions, options.runs) for tree in options.trees}
    content = {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        "revisions": {name: commit(name) for name in options.revisions},
        "runs": options.runs,
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


def _compared(tree: Path, revisions: dict[str, Path], runs: int) -> dict[str, object]:
    thousands = sum(path.read_bytes().count(b"\n") for path in tree.rglob("*.py")) / 1000
    measured: dict[str, list[float]] = {name: [] for name in revisions}
    for _ in range(runs):
        for name, directory in revisions.items():
            measured[name].append(_cpu(tree, directory))
    medians = [statistics.median(seconds) for seconds in measured.values()]
    return {
        "lines": round(thousands * 1000),
        "cpu seconds": {name: [round(value, 2) for value in seconds] for name, seconds in measured.items()},
        "cpu ms per 1,000 lines": {
            name: round(1000 * median / thousands, 1) for name, median in zip(measured, medians, strict=True)
        },
        "ratio": round(medians[1] / medians[0], 2),
    }


def _cpu(tree: Path, directory: Path) -> float:
    environment = {**os.environ, "PYTHONPATH": str(directory), "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": ""}
    process = subprocess.Popen(
        [sys.executable, *CHECK], cwd=tree, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment
    )
    _, status, usage = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status):
        raise SystemExit(f"{directory}: perflint ended with {os.waitstatus_to_exitcode(status)} on {tree}")
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
