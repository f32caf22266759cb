"""How many findings two revisions of perflint report by default: in each repository, and for each 1,000 lines.

    python benchmarks/counts_between.py d8752a2 HEAD --trees ../repos/* --output benchmarks/results/counts_between.json

Each revision is taken from git into a directory of its own.  Prints a line for each tree and one for each rule.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from between_revisions import commit, unpacked

CHECK = ["-m", "perflint", "check", "--isolated", "--exit-zero", "--no-cache", "--output-format", "json", "."]


def main() -> None:
    options = _options()
    with tempfile.TemporaryDirectory() as scratch:
        revisions = {name: unpacked(name, Path(scratch) / str(at)) for at, name in enumerate(options.revisions)}
        counted = {tree.name: [_counts(tree, path) for path in revisions.values()] for tree in options.trees}
    lines = {tree.name: sum(path.read_bytes().count(b"\n") for path in tree.rglob("*.py")) for tree in options.trees}
    trees = {name: _row([count.total() for count in counts], lines[name]) for name, counts in counted.items()}
    totals = [sum((counts[at] for counts in counted.values()), Counter[str]()) for at in range(2)]
    trees["all"] = _row([total.total() for total in totals], sum(lines.values()))
    rules = {code: [total[code] for total in totals] for code in sorted(totals[0] | totals[1])}
    for name, row in [*trees.items(), *rules.items()]:
        print(name, json.dumps(row))
    if options.output:
        content = {"revisions": [commit(name) for name in options.revisions], "trees": trees, "rules": rules}
        options.output.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def _counts(tree: Path, directory: Path) -> Counter[str]:
    environment = {**os.environ, "PYTHONPATH": str(directory)}
    run = subprocess.run(
        [sys.executable, *CHECK], cwd=tree, capture_output=True, text=True, check=True, env=environment
    )
    return Counter(item["code"] for item in json.loads(run.stdout))


def _row(findings: list[int], lines: int) -> dict[str, object]:
    return {
        "lines": lines,
        "findings": findings,
        "per_1000_lines": [round(1000 * number / max(lines, 1), 3) for number in findings],
    }


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("revisions", nargs=2, help="what git calls them")
    parser.add_argument("--trees", type=Path, nargs="+", required=True, help="checkouts of Paddle code")
    parser.add_argument("--output", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()
