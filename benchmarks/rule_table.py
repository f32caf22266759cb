"""What each rule finds in real repositories, how much of it can be edited, and the documents that it comes from.

    python benchmarks/rule_table.py ../repos/*      counts, and writes docs/documents.md
    python benchmarks/rule_table.py                 writes the page again, from the counts on record

Each tree is checked by itself with all rules, at any impact and confidence.  ``sure``: the findings of medium or high
confidence.  ``edit``: those of them whose fix holds an edit, and ``applicable``: those whose edit
``--fix --unsafe-fixes`` makes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from perflint import catalogue
from perflint.catalogue import Rule
from perflint.output.measured import shipped

ROOT = Path(__file__).resolve().parents[1]
COUNTS = ROOT / "benchmarks" / "results" / "rule_table.json"
DOCUMENTS = ROOT / "benchmarks" / "documents.yaml"
PAGE = ROOT / "docs" / "documents.md"
CHECK = ["check", "--isolated", "--select", "ALL", "--min-impact", "low", "--min-confidence", "low", "--exit-zero"]
_SURE = frozenset({"medium", "high"})
Counts = dict[str, dict[str, int]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trees", nargs="*", type=Path)
    trees: list[Path] = parser.parse_args().trees
    if trees:
        counts = {"trees": sorted(tree.name for tree in trees), "rules": counted(map(findings, trees))}
        COUNTS.write_text(json.dumps(counts, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")


def findings(tree: Path) -> list[dict[str, Any]]:
    """All findings of a tree, as ``--output-format json`` has them."""
    with tempfile.TemporaryDirectory() as scratch:
        target = Path(scratch) / "findings.json"
        command = [sys.executable, "-m", "perflint", *CHECK, "--no-cache", "--output-format", "json"]
        command += ["--output-file", str(target), "."]
        subprocess.run(command, cwd=tree, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True)
        found: list[dict[str, Any]] = json.loads(target.read_text(encoding="utf-8"))
    return found


def counted(trees: Iterable[Iterable[Mapping[str, Any]]]) -> Counts:
    """How many findings each rule has, of which kinds, by code."""
    counts: dict[str, Counter[str]] = {}
    for found in (each for tree in trees for each in tree):
        own = counts.setdefault(found["code"], Counter())
        own.update(_kinds(found))
    return {code: dict(sorted(own.items())) for code, own in sorted(counts.items())}


def _kinds(found: Mapping[str, Any]) -> Iterator[str]:
    impact = (found["impact"] or {}).get("level", "")
    yield "all"
    if found["confidence"] in _SURE:
        yield "sure"
        yield impact or "without an impact"
        fix = found["fix"] or {}
        if fix.get("edits"):
            yield "edit"
            if fix["applicability"] != "display":
                yield "applicable"


def page() -> str:
    """The page: rules with their counts, and the documents point by point."""
    record = json.loads(COUNTS.read_text(encoding="utf-8"))
    documents = yaml.safe_load(DOCUMENTS.read_text(encoding="utf-8"))
    return "\n".join([*_head(record["trees"]), *_rules(record["rules"], documents), *_documents(documents)]) + "\n"


def _head(trees: list[str]) -> Iterator[str]:
    yield "# Rules and the documents that they come from"
    yield ""
    yield f"What each rule finds in {len(trees)} public repositories, and which point of which document it covers."
    yield "`python benchmarks/rule_table.py TREES` counts and writes this page."
    yield ""


def _rules(counts: Counts, documents: Mapping[str, Any]) -> Iterator[str]:
    yield "## Rules"
    yield ""
    yield "*Found*: findings of medium or high confidence, by impact; `--min-impact low` shows those of low impact."
    yield "*Unsure*: findings of low confidence, which `--min-confidence low` shows. *Edit*: the share of the found"
    yield "ones whose fix has an edit; *applied*: the share that `--fix --unsafe-fixes` makes. *Evidence*: what a"
    yield "script gained on a CPU if the suite measures the rule ([measured.md](measured.md)), else why it does not."
    yield "tests/test_page_code.py tests that the calls exist in Paddle 3.3.1, with these parameters, positions and"
    yield "defaults."
    yield ""
    yield "| rule | name | by default | found | high | medium | low | unsure | edit | applied | evidence | documents |"
    yield "|---|---|---|---:|---:|---:|---:|---:|---:|---:|---|---|"
    for code, rule in catalogue.shipped().items():
        if rule.bottleneck != "input":
            yield _row(rule, counts.get(code, {}), _asked_for(code, documents))


def _row(rule: Rule, own: Mapping[str, int], documents: list[str]) -> str:
    found = own.get("sure", 0)
    cells = [f"[{rule.code}](rules/{rule.code}.md)", rule.name, "on" if rule.default else "off"]
    cells += [str(own.get(key, 0)) for key in ("sure", "high", "medium", "low")]
    cells += [str(own.get("all", 0) - found)]
    cells += [f"{own.get(key, 0) / found:.2f}" if found else "" for key in ("edit", "applicable")]
    return f"| {' | '.join([*cells, _evidence(rule), ', '.join(documents)])} |"


def _evidence(rule: Rule) -> str:
    measured = shipped().get(rule.code, {}).get("cpu")
    return f"{measured.ratio:.2f} times" if measured else rule.measuring.why_not("cpu")


def _asked_for(code: str, documents: Mapping[str, Any]) -> list[str]:
    return [name for name, each in documents.items() if any(code in point.get("rules", ()) for point in each["points"])]


def _documents(documents: Mapping[str, Any]) -> Iterator[str]:
    known = catalogue.shipped()
    for name, each in documents.items():
        yield ""
        yield f"## {name}: {each['title']}"
        yield ""
        if "url" in each:
            yield f"<{each['url']}>"
            yield ""
        yield "| where | what it says | rules |"
        yield "|---|---|---|"
        for point in each["points"]:
            rules = ", ".join(code for code in point.get("rules", ()) if code in known)
            without = point.get("left_out", "")
            yield f"| {point['where']} | {point['says']} | {'; '.join(filter(None, (rules, without)))} |"


if __name__ == "__main__":
    main()
