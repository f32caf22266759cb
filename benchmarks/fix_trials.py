"""Make every edit that is offered by itself, and check what it leaves behind.

    python benchmarks/fix_trials.py --json benchmarks/results/fix_trials.json PaddleDetection PaddleSeg

For each edit shown on these trees, whatever its level: does the edited file still compile, does pyflakes say something
that it did not say before, and does the rule still report the place?  Counts one of each for each tree and rule.
Needs pyflakes, which the extra ``[test]`` brings.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from pyflakes.checker import Checker

from perflint.configuration.settings import Settings
from perflint.findings import Finding, ImpactLevel
from perflint.fix import fixer
from perflint.run import discovery
from perflint.run.session import Session
from perflint.text.source import Source

ALL = Settings(select=("ALL",), min_impact=ImpactLevel.LOW)


def flakes(text: str) -> Counter[str]:
    """What pyflakes says of a text, without the rows, since an edit moves them."""
    found = Checker(ast.parse(text), "").messages
    return Counter(re.sub(r"\d+", "", str(message.message % message.message_args)) for message in found)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trees", nargs="+", type=Path)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    totals: dict[str, dict[str, int]] = {}
    for tree in arguments.trees:
        counts: Counter[str] = Counter()
        for finding, source, problem in _trials(tree):
            counts[f"{finding.code} {finding.fix.level if finding.fix else ''} {problem or 'good'}"] += 1
            if problem and arguments.verbose:
                print(f"{source.path}:{source.lines.position(finding.start)[0]} {finding.code} {problem}", flush=True)
        totals[tree.name] = dict(sorted(counts.items()))
        print(tree.name, totals[tree.name], flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(totals, indent=1) + "\n", encoding="utf-8")
    return 0


def _trials(tree: Path) -> Iterator[tuple[Finding, Source, str]]:
    """Each finding that has an edit, with its file and what is wrong with the edit (empty: nothing)."""
    sources, _ = discovery.read_all(sorted(path for path in tree.rglob("*.py") if path.is_file()))
    session = Session(sources, ALL)
    by_file: dict[str, list[Finding]] = {}
    for finding in session.findings():
        if finding.fix is not None and finding.fix.edits:
            by_file.setdefault(finding.path, []).append(finding)
    for path, findings in by_file.items():
        before = flakes(sources[path].text)
        for finding in findings:
            yield finding, sources[path], _problem(finding, sources, before, session)
        session.edit(path, sources[path].text)


def _problem(finding: Finding, sources: Mapping[str, Source], before: Counter[str], session: Session) -> str:
    source = sources[finding.path]
    assert finding.fix is not None
    applied = fixer.apply(source.text, [finding.fix])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(applied.text, source.path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return "does not compile"
    new = flakes(applied.text) - before
    if new:
        return f"new message: {next(iter(new)).partition(chr(39))[0].strip() or next(iter(new))}"
    low, high = applied.moved(finding.start, finding.end)
    after = session.edit(finding.path, applied.text)
    if any(item.code == finding.code and low <= item.start < max(high, low + 1) for item in after):
        return "still reported"
    return ""


if __name__ == "__main__":
    sys.exit(main())
