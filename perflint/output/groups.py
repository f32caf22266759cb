"""``--group-by``: the findings of each rule, or of each file, under a heading with their number."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from perflint.findings import Finding
from perflint.output.report import Report
from perflint.output.rule_facts import facts
from perflint.text.visible import counted, visible_path

BY_RULE = "rule"


def render(report: Report, by: str, render_group: Callable[[Report], Iterator[str]]) -> Iterator[str]:
    """The findings by ``rule`` (the most frequent one first) or by ``file``, keeping the order of the report."""
    groups: dict[str, list[Finding]] = {}
    for finding in report.findings:
        groups.setdefault(finding.code if by == BY_RULE else finding.path, []).append(finding)
    if by == BY_RULE:
        groups = dict(sorted(groups.items(), key=lambda group: (-len(group[1]), group[0])))
    for name, findings in groups.items():
        shown = f"{name} {facts(name).name}" if by == BY_RULE else visible_path(name)
        count = counted(len(findings), "finding")
        yield report.palette.bold(f"{shown}: {count}") + "\n\n"
        chunks = "".join(render_group(replace(report, findings=findings)))
        yield chunks if chunks.endswith("\n\n") else chunks + "\n"
