"""Draw findings at random, with the code around them, to be judged by reading.

    python benchmarks/sample_findings.py PaddleDetection PaddleSeg PaddleClas PaddleGAN --seed 2 --count 30

Each tree is checked as a project of its own with the default rules.  Prints the number of findings per rule and tree,
then the drawn ones; the verdicts in docs/field-notes.md were written after reading these.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

AROUND = 6


def main() -> None:
    options = _options()
    found: list[dict[str, Any]] = []
    for tree in options.trees:
        own = _check(tree)
        counts = Counter(item["code"] for item in own)
        print(f"{tree.name}: {len(own)} findings; " + ", ".join(f"{code} {n}" for code, n in sorted(counts.items())))
        found += own
    chosen = random.Random(options.seed).sample(found, min(options.count, len(found)))
    for number, item in enumerate(sorted(chosen, key=lambda item: (item["filename"], item["location"]["row"])), 1):
        print(f"\n=== {number}. {item['filename']}:{item['location']['row']} {item['code']}\n{item['message']}")
        print(_around(Path(item["filename"]), item["location"]["row"]))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trees", type=Path, nargs="+")
    parser.add_argument("--seed", type=int, default=2)
    parser.add_argument("--count", type=int, default=30)
    return parser.parse_args()


def _check(tree: Path) -> list[dict[str, Any]]:
    options = ["--isolated", "--exit-zero", "--output-format", "json"]
    command = [sys.executable, "-m", "perflint", "check", *options, str(tree)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    found: list[dict[str, Any]] = json.loads(run.stdout)
    return found


def _around(path: Path, row: int) -> str:
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    first = max(row - AROUND, 1)
    return "\n".join(f"{number:5} {lines[number - 1]}" for number in range(first, min(row + AROUND, len(lines)) + 1))


if __name__ == "__main__":
    main()
