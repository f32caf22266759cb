"""What a line costs: CPU seconds of a cold check for each 1,000 lines, tree by tree, beside the first of them.

    python benchmarks/per_line.py --output benchmarks/results/per_line.json PaddleDetection PaddleSeg PaddleSlim

Checks each tree in one process without the cache, several times, and takes the least CPU time (``cpu_s``); then in two
processes, for the least wall time of each (``wall_s``, ``wall_s_two``).  ``ratio`` is the cost of a line over that of
the first tree, and ``faster_with_two`` how many times as fast two processes are.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

from perflint.configuration.settings import Settings
from perflint.run.discovery import python_files, read_all


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trees", nargs="+", type=Path)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    found: dict[str, dict[str, float]] = {}
    for tree in options.trees:
        found[tree.resolve().name] = _measured(tree, options.runs)
        first = next(iter(found.values()))
        row = found[tree.resolve().name]
        row["ratio"] = round(row["cpu_s_per_1000_lines"] / first["cpu_s_per_1000_lines"], 2)
        print(tree.resolve().name, json.dumps(row), flush=True)
    if options.output:
        options.output.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def _measured(tree: Path, runs: int) -> dict[str, float]:
    sources, _ = read_all(python_files([tree], Settings()).files)
    lines = sum(source.text.count("\n") for source in sources.values())
    alone, together = ([_run(tree, jobs) for _ in range(runs)] for jobs in (1, 2))
    cpu, wall, wall_two = (
        min(cpu for cpu, _ in alone),
        min(wall for _, wall in alone),
        min(wall for _, wall in together),
    )
    return {
        "files": len(sources),
        "lines": lines,
        "cpu_s": round(cpu, 2),
        "cpu_s_per_1000_lines": round(1000 * cpu / max(lines, 1), 4),
        "wall_s": round(wall, 2),
        "wall_s_two": round(wall_two, 2),
        "faster_with_two": round(wall / wall_two, 2),
    }


def _run(tree: Path, jobs: int) -> tuple[float, float]:
    """CPU and wall seconds of one check."""
    command = [sys.executable, "-m", "perflint", "check", "--no-cache", "--exit-zero", "--quiet", f"--jobs={jobs}", "."]
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, cwd=tree, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


if __name__ == "__main__":
    main()
