"""``--statistics``: how many findings each rule has.

The marks are those of ``concise``, if it gives all findings of the rule the same one. ``[~]``: they differ.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from perflint.output.concise import mark_of
from perflint.output.json_text import json_text
from perflint.output.report import Report
from perflint.output.rule_facts import facts


def render(report: Report) -> Iterator[str]:
    """``count  CODE  [mark]  name`` for each code, the most frequent first."""
    rows = _rows(report)
    width = max((len(str(count)) for _, count, _ in rows), default=1)
    marks: dict[str, set[str]] = defaultdict(set)
    for finding in report.findings:
        marks[finding.code].add(mark_of(report, finding))
    for code, count, _ in rows:
        mark = "[~]" if len(marks[code]) > 1 else next(iter(marks[code]))
        shown = report.palette.rule(code, facts(code).url)
        yield f"{count:>{width}}  {shown}  {report.palette.level(mark)}  {facts(code).name}\n"


def render_json(report: Report) -> Iterator[str]:
    """The same as a JSON list of objects, as Ruff writes it."""
    rows = [
        {
            "code": code,
            "name": facts(code).name,
            "count": count,
            "fixable": fixable == count,
            "fixable_count": fixable,
        }
        for code, count, fixable in _rows(report)
    ]
    yield json_text(rows, indent=2) + "\n"


def _rows(report: Report) -> list[tuple[str, int, int]]:
    counts = Counter(finding.code for finding in report.findings)
    fixable = Counter(finding.code for finding in report.findings if report.would_fix(finding))
    return [(code, counts[code], fixable[code]) for code in sorted(counts, key=lambda code: (-counts[code], code))]
