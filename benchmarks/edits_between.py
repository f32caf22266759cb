"""Which edits two revisions of perflint offer, by level, and which were lost or gained, each with its reason.

    python benchmarks/edits_between.py 9d493d5 HEAD --trees ../trees/* --output benchmarks/results/edits_between.json

Each revision is taken from git into a directory of its own.  ``--option`` is passed to ``perflint check``, such as
``--option=--extend-select=ALL``.  The same finding is one of the same rule at the same place of the same file.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from between_revisions import commit, unpacked

CHECK = ["-m", "perflint", "check", "--isolated", "--exit-zero", "--no-cache", "--output-format", "json"]
WORDS_ONLY, NONE = "words only", "none"
_OLD_NAMES = {"display": "suggestion"}
"""What levels were called in earlier revisions."""

Place = tuple[str, str, int, int]
"""The file, the rule, the row and the column of a finding."""


class Offered(NamedTuple):
    """The fix of a finding: its level, or that it is in words only; and the reason for the level."""

    level: str
    reason: str


def main() -> None:
    options = _options()
    before: dict[Place, Offered] = {}
    after: dict[Place, Offered] = {}
    with tempfile.TemporaryDirectory() as scratch:
        paths = [unpacked(name, Path(scratch) / str(at)) for at, name in enumerate(options.revisions)]
        for tree in options.trees:
            for path, found in zip(paths, (before, after), strict=True):
                found |= _offered(tree.resolve(), path, options.option)
            print(tree.name, flush=True)
    changed = sorted(
        key for key in {*before, *after} if before.get(key, _NOTHING).level != after.get(key, _NOTHING).level
    )
    content = {
        "revisions": [commit(name) for name in options.revisions],
        "trees": [tree.name for tree in options.trees],
        "options": options.option,
        "findings": [len(before), len(after)],
        "levels": by_level(before, after),
        "rules": {
            code: by_level(_of(before, code), _of(after, code))
            for code in sorted({key[1] for key in {*before, *after}})
        },
        "changes": [_change(key, before.get(key, _NOTHING), after.get(key, _NOTHING)) for key in changed],
    }
    print(json.dumps(content["levels"], indent=1))
    if options.output:
        options.output.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


_NOTHING = Offered(NONE, "")


def by_level(before: Mapping[Place, Offered], after: Mapping[Place, Offered]) -> dict[str, list[int]]:
    """How many findings have a fix of each level, before and after."""
    counts = [Counter(item.level for item in found.values()) for found in (before, after)]
    return {level: [count[level] for count in counts] for level in sorted(counts[0] | counts[1])}


def offered(finding: Mapping[str, Any]) -> Offered:
    """The fix of a finding of the JSON report."""
    fix = finding["fix"]
    if fix is None:
        return _NOTHING
    if not fix["edits"]:
        return Offered(WORDS_ONLY, fix["reason"] or "")
    level = fix["applicability"]
    return Offered(_OLD_NAMES.get(level, level), fix["reason"] or "")


def _of(found: Mapping[Place, Offered], code: str) -> dict[Place, Offered]:
    return {key: item for key, item in found.items() if key[1] == code}


def _change(key: Place, before: Offered, after: Offered) -> dict[str, object]:
    path, code, row, column = key
    return {"place": f"{path}:{row}:{column}", "rule": code, "before": list(before), "after": list(after)}


def _offered(tree: Path, directory: Path, options: list[str]) -> dict[Place, Offered]:
    environment = {**os.environ, "PYTHONPATH": str(directory)}
    command = [sys.executable, *CHECK, *options, "."]
    run = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=True, env=environment)
    found = {}
    for item in json.loads(run.stdout):
        path = Path(item["filename"]).relative_to(tree.parent)
        at = item["location"]
        found[path.as_posix(), item["code"], at["row"], at["column"]] = offered(item)
    return found


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("revisions", nargs=2, help="what git calls them")
    parser.add_argument("--trees", type=Path, nargs="+", required=True, help="checkouts of Paddle code")
    parser.add_argument("--option", action="append", default=[], help="an option for perflint check")
    parser.add_argument("--output", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()
