"""Make every fix, unsafe ones too, in copies of whole trees, and check what became of the files.

    python benchmarks/fix_trees.py --json benchmarks/results/fix_trees.json PaddleDetection PaddleSeg PaddleClas

``--safe`` makes the safe ones only, and ``--default`` those of the rules that are on by default.  For each tree: every
file that compiled must still compile, pyflakes must say nothing new of it, no file may take a name from another that
no longer binds it, a second run must change nothing, and the syntax trees may differ only on rows that an edit touches.
No fix may be made at a place whose fix the first check only showed.  Exits with 1 where that is not so.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping
from difflib import SequenceMatcher
from pathlib import Path

from pyflakes.checker import Checker

from perflint.configuration.settings import Settings
from perflint.findings import Finding, ImpactLevel, Level
from perflint.fix import fixer
from perflint.run import discovery, engine
from perflint.text.source import Source

ALL = Settings(select=("ALL",), min_impact=ImpactLevel.LOW)
DEFAULT = Settings()
_WRONG = (
    "no longer compile",
    "new pyflakes messages",
    "names missing in other files",
    "changed by a second run",
    "shown fixes made",
    "beyond the edits",
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trees", nargs="+", type=Path)
    parser.add_argument("--safe", action="store_true", help="only safe fixes")
    parser.add_argument("--default", action="store_true", help="only the rules that are on by default")
    parser.add_argument("--json", type=Path, help="where the counts are written")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    counts = {}
    for tree in arguments.trees:
        counts[tree.name] = _tree(
            tree, Level.SAFE if arguments.safe else Level.UNSAFE, DEFAULT if arguments.default else ALL
        )
        print(tree.name, ", ".join(f"{what}: {count}" for what, count in counts[tree.name].items()), flush=True)
    total: Counter[str] = Counter()
    for row in counts.values():
        total.update(row)
    print("all", ", ".join(f"{what}: {total[what]}" for what in next(iter(counts.values()))))
    if arguments.json:
        arguments.json.write_text(json.dumps(counts, indent=1) + "\n", encoding="utf-8")
    return int(any(total[what] for what in _WRONG) or bool(total["fixes rejected"]))


def _tree(tree: Path, level: Level, settings: Settings) -> dict[str, int]:
    def check(sources: Mapping[str, Source]) -> list[Finding]:
        return engine.check(sources, settings)

    sources, _ = discovery.read_all(sorted(path for path in tree.rglob("*.py") if path.is_file()))
    outcome = fixer.fix_all(sources, check, level)
    fixed = {**sources, **outcome.changed}
    again = fixer.fix_all(fixed, check, level)
    missing = _missing(sources, fixed, outcome.changed)
    pairs = [(sources[path].text, source.text) for path, source in outcome.changed.items()]
    for path in again.changed:
        print(f"  a second run changes {path}")
    for path, source in outcome.changed.items():
        for message in _flakes(source.text) - _flakes(sources[path].text):
            print(f"  {path}: {message}")
    for path, taken in missing:
        print(f"  {path} takes {taken}, which is no longer bound there")
    return {
        "files": len(sources),
        "findings": len(outcome.first),
        "fixed": outcome.fixed_count,
        "files changed": len(outcome.changed),
        "fixes rejected": len(outcome.rejected),
        "no longer compile": sum(_compiles(before) and not _compiles(after) for before, after in pairs),
        "new pyflakes messages": sum(sum((_flakes(after) - _flakes(before)).values()) for before, after in pairs),
        "names missing in other files": len(missing),
        "changed by a second run": len(again.changed),
        "shown fixes made": len(_shown_and_made(outcome, sources)),
        "beyond the edits": sum(_strays(before, after) for before, after in pairs),
    }


def _missing(
    before: Mapping[str, Source], after: Mapping[str, Source], changed: Iterable[str]
) -> list[tuple[str, str]]:
    """The names that files take from changed ones, by import or as an attribute, which these bound and no longer bind.

    Judged by the last part of a module's name alone, so that no import is missed: it may name too many, never too few.
    """
    lost: dict[str, set[str]] = {}
    for path in changed:
        stem = Path(path).parent.name if Path(path).name == "__init__.py" else Path(path).stem
        lost.setdefault(stem, set()).update(_bound(before[path].text) - _bound(after[path].text))
    lost = {stem: names for stem, names in lost.items() if names}
    found = []
    for path, source in after.items() if lost else ():
        tree = _parsed(source.text)
        modules = {stem: stem for stem in lost}
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                for alias in node.names:
                    stem = alias.name.rpartition(".")[2]
                    if stem in lost and alias.asname:
                        modules[alias.asname] = stem
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                stem = (node.module or "").rpartition(".")[2]
                for alias in node.names:
                    if alias.name in lost.get(stem, ()):
                        found.append((path, f"{stem}.{alias.name}"))
            elif isinstance(node, ast.Attribute):
                owner = node.value.attr if isinstance(node.value, ast.Attribute) else getattr(node.value, "id", "")
                if node.attr in lost.get(modules.get(owner, ""), ()):
                    found.append((path, f"{owner}.{node.attr}"))
    return found


def _bound(text: str) -> set[str]:
    """The names that a file binds anywhere at module level."""
    found: set[str] = set()
    stack: list[ast.AST] = list(ast.iter_child_nodes(_parsed(text)))
    while stack:
        node = stack.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
            continue
        if isinstance(node, ast.alias):
            found.add(node.asname or node.name.partition(".")[0])
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        stack += ast.iter_child_nodes(node)
    return found


def _parsed(text: str) -> ast.Module:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError):
        return ast.Module([], [])


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
