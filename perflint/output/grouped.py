"""The findings of each rule, or of each file: in groups (``--group-by``), or only counted (``--statistics``)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace

from perflint.findings import Finding
from perflint.output.concise import mark_of
from perflint.output.report import Report, facts, json_text
from perflint.text.visible import counted, visible_line, visible_path

BY_RULE, BY_STEP = "rule", "step"
_NO_STEP = "outside of steps"


def render_groups(report: Report, by: str, render_group: Callable[[Report], Iterator[str]]) -> Iterator[str]:
    """The findings by ``rule`` (the most frequent one first), by ``step`` (that with most to gain first) or ``file``.

    Within a group, they keep the order of the report; those of a step are sorted by what they gain.
    """
    groups: dict[str, list[Finding]] = {}
    for finding in report.findings:
        names = {BY_RULE: finding.code, BY_STEP: finding.step or _NO_STEP}
        groups.setdefault(names.get(by, finding.path), []).append(finding)
    if by == BY_RULE:
        groups = dict(sorted(groups.items(), key=lambda group: (-len(group[1]), group[0])))
    elif by == BY_STEP:
        known = {name: sorted(found, key=_least_gain_last) for name, found in groups.items()}
        groups = dict(sorted(known.items(), key=lambda group: (_least_gain_last(group[1][0]), group[0])))
    for name, findings in groups.items():
        shown = (
            f"{name} {facts(name).name}"
            if by == BY_RULE
            else visible_line(name)
            if by == BY_STEP
            else visible_path(name)
        )
        count = counted(len(findings), "finding")
        yield report.palette.bold(f"{shown}: {count}") + "\n\n"
        chunks = "".join(render_group(replace(report, findings=findings)))
        yield chunks if chunks.endswith("\n\n") else chunks + "\n"


def _least_gain_last(finding: Finding) -> tuple[float, ...]:
    impact = finding.impact
    return (-impact.level, -impact.milliseconds) if impact is not None else (1.0, 0.0)


def render_counts(report: Report) -> Iterator[str]:
    """``count  CODE  [mark]  name`` for each code, the most frequent first.

    The marks are those of ``concise``, if it gives all findings of the rule the same one. ``[~]``: they differ.
    """
    rows = _rows(report)
    width = max((len(str(count)) for _, count, _ in rows), default=1)
    marks: dict[str, set[str]] = defaultdict(set)
    for finding in report.findings:
        marks[finding.code].add(mark_of(report, finding))
    for code, count, _ in rows:
        mark = "[~]" if len(marks[code]) > 1 else next(iter(marks[code]))
        shown = report.palette.rule(code, facts(code).url)
        yield f"{count:>{width}}  {shown}  {report.palette.level(mark)}  {facts(code).name}\n"


def render_counts_json(report: Report) -> Iterator[str]:
    """The same as a JSON list of objects, as Ruff writes it."""
    rows = [
        {"code": code, "name": facts(code).name, "count": count, "fixable": fixable == count, "fixable_count": fixable}
        for code, count, fixable in _rows(report)
    ]
    yield json_text(rows, indent=2) + "\n"


def _rows(report: Report) -> list[tuple[str, int, int]]:
    counts = Counter(finding.code for finding in report.findings)
    fixable = Counter(finding.code for finding in report.findings if report.would_fix(finding))
    return [(code, counts[code], fixable[code]) for code in sorted(counts, key=lambda code: (-counts[code], code))]
