"""Make every fix, unsafe ones too, in copies of whole trees, and check what became of the files.

    python benchmarks/fix_trees.py --json benchmarks/results/fix_trees.json PaddleDetection PaddleSeg PaddleClas

For each tree: every file that compiled must still compile, pyflakes must say nothing new of it, a second run must
change nothing, and the syntax trees may differ only on rows that an edit touches.  No fix may be made at a place whose
fix the first check only showed.  Exits with 1 where that is not so.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
import warnings
from collections import Counter
from collections.abc import Mapping
from difflib import SequenceMatcher
from pathlib import Path

from pyflakes.checker import Checker

from perflint.configuration.settings import Settings
from perflint.findings import Finding, ImpactLevel, Level
from perflint.fix import fixer
from perflint.run import engine, intake
from perflint.text.source import Source

ALL = Settings(select=("ALL",), min_impact=ImpactLevel.LOW)
_WRONG = (
    "no longer compile",
    "new pyflakes messages",
    "changed by a second run",
    "shown fixes made",
    "beyond the edits",
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trees", nargs="+", type=Path)
    parser.add_argument("--json", type=Path, help="where the counts are written")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    counts = {}
    for tree in arguments.trees:
        counts[tree.name] = _tree(tree)
        print(tree.name, ", ".join(f"{what}: {count}" for what, count in counts[tree.name].items()), flush=True)
    total: Counter[str] = Counter()
    for row in counts.values():
        total.update(row)
    print("all", ", ".join(f"{what}: {total[what]}" for what in next(iter(counts.values()))))
    if arguments.json:
        arguments.json.write_text(json.dumps(counts, indent=1) + "\n", encoding="utf-8")
    return int(any(total[what] for what in _WRONG) or bool(total["fixes rejected"]))


def _tree(tree: Path) -> dict[str, int]:
    sources, _ = intake.read_all(sorted(path for path in tree.rglob("*.py") if path.is_file()))
    outcome = fixer.fix_all(sources, _check, Level.UNSAFE)
    again = fixer.fix_all({**sources, **outcome.changed}, _check, Level.UNSAFE)
    pairs = [(sources[path].text, source.text) for path, source in outcome.changed.items()]
    for path in again.changed:
        print(f"  a second run changes {path}")
    for path, source in outcome.changed.items():
        for message in _flakes(source.text) - _flakes(sources[path].text):
            print(f"  {path}: {message}")
    return {
        "files": len(sources),
        "findings": len(outcome.first),
        "fixed": outcome.fixed_count,
        "files changed": len(outcome.changed),
        "fixes rejected": len(outcome.rejected),
        "no longer compile": sum(_compiles(before) and not _compiles(after) for before, after in pairs),
        "new pyflakes messages": sum(sum((_flakes(after) - _flakes(before)).values()) for before, after in pairs),
        "changed by a second run": len(again.changed),
        "shown fixes made": len(_shown_and_made(outcome, sources)),
        "beyond the edits": sum(_strays(before, after) for before, after in pairs),
    }


def _check(sources: Mapping[str, Source]) -> list[Finding]:
    return engine.check(sources, ALL)


def _shown_and_made(outcome: fixer.FixOutcome, sources: Mapping[str, Source]) -> list[fixer.Made]:
    """The fixes that were made although the first check only showed them: same file, same rule, same row of text."""
    offered: set[tuple[str, str, str]] = set()
    shown: set[tuple[str, str, str]] = set()
    for item in outcome.first:
        lines = sources[item.path].lines
        place = (item.path, item.code, lines.line(lines.position(item.start)[0]).strip())
        (offered if item.fix is not None and item.fix.level >= Level.UNSAFE else shown).add(place)
    made = [made for round_ in outcome.applied for made in round_]
    return [one for one in made if (one.finding.path, one.finding.code, one.row) in shown - offered]


def _compiles(text: str) -> bool:
    try:
        compile(text, "<file>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return True


def _flakes(text: str) -> Counter[str]:
    """What pyflakes says of a text, without the rows, since edits move them."""
    try:
        found = Checker(ast.parse(text), "").messages
    except (SyntaxError, ValueError):
        return Counter()
    return Counter(re.sub(r"\d+", "", str(message.message % message.message_args)) for message in found)


def _strays(before: str, after: str) -> bool:
    """Whether a statement on rows that no edit touched has another syntax tree, or another indentation, than before."""
    old, new = before.splitlines(), after.splitlines()
    kept = {
        block.a + offset + 1: block.b + offset + 1
        for block in SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
        for offset in range(block.size)
    }
    found = {(node.lineno, ast.dump(node)) for node in _leaves(after)}  # several may share a row
    return any(
        (kept[node.lineno], ast.dump(node)) not in found for node in _leaves(before) if _is_untouched(node, kept)
    )


def _is_untouched(node: ast.stmt, kept: Mapping[int, int]) -> bool:
    """Whether all rows of a statement are left, and none has come between them."""
    rows = range(node.lineno, (node.end_lineno or node.lineno) + 1)
    return all(row in kept and kept[row] - row == kept.get(node.lineno, 0) - node.lineno for row in rows)


def _leaves(text: str) -> list[ast.stmt]:
    simple = (ast.Expr, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return, ast.Raise, ast.Assert, ast.Import)
    return [node for node in ast.walk(ast.parse(text)) if isinstance(node, simple)]


if __name__ == "__main__":
    sys.exit(main())
