"""Apply every fix, unsafe ones too, to copies of whole trees, and check what became of the files.

    python benchmarks/fix_trees.py PaddleDetection PaddleSeg PaddleClas PaddleGAN

For each tree: every file that parsed must still parse, a second run must change nothing, and the syntax trees may
differ only on rows that an edit touches.  Exits with 1 where that is not so.
"""

from __future__ import annotations

import ast
import sys
import warnings
from collections.abc import Mapping
from difflib import SequenceMatcher
from pathlib import Path

from perflint import engine, fixer, intake
from perflint.findings import Finding, Level
from perflint.settings import Settings
from perflint.source import Source

ALL = Settings(select=("ALL",))


def main() -> int:
    warnings.simplefilter("ignore")
    return max((_tree(Path(name)) for name in sys.argv[1:]), default=2)


def _tree(tree: Path) -> int:
    sources, _ = intake.read_all(sorted(path for path in tree.rglob("*.py") if path.is_file()))
    outcome = fixer.fix_all(sources, _check, Level.UNSAFE)
    again = fixer.fix_all({**sources, **outcome.changed}, _check, Level.UNSAFE)
    broken = [path for path, source in outcome.changed.items() if not _parses(source.text)]
    strays = [path for path, source in outcome.changed.items() if _strays(sources[path].text, source.text)]
    print(
        f"{tree.name}: {len(sources)} files, {len(outcome.first)} findings, {outcome.fixed_count} fixed in"
        f" {len(outcome.changed)} files, {len(outcome.rejected)} fixes rejected; no longer parse: {len(broken)};"
        f" changed by a second run: {len(again.changed)}; differ beyond the edits: {len(strays)}"
    )
    return int(bool(broken or strays or again.changed or outcome.rejected))


def _check(sources: Mapping[str, Source]) -> list[Finding]:
    return engine.check(sources, ALL)


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def _strays(before: str, after: str) -> bool:
    """Whether a statement on rows that no edit touched has another syntax tree, or another indentation, than before."""
    old, new = before.splitlines(), after.splitlines()
    kept = {
        block.a + offset + 1: block.b + offset + 1
        for block in SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
        for offset in range(block.size)
    }
    found = {(node.lineno, type(node)): ast.dump(node) for node in _leaves(after)}
    return any(
        (kept[node.lineno], type(node)) not in found or found[kept[node.lineno], type(node)] != ast.dump(node)
        for node in _leaves(before)
        if all(row in kept for row in range(node.lineno, (node.end_lineno or node.lineno) + 1))
    )


def _leaves(text: str) -> list[ast.stmt]:
    simple = (ast.Expr, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return, ast.Raise, ast.Assert, ast.Import)
    return [node for node in ast.walk(ast.parse(text)) if isinstance(node, simple)]


if __name__ == "__main__":
    sys.exit(main())
