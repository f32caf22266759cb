"""``gitlab``: a code quality report, which GitLab compares with that of the target branch.

See https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format. GitLab shows only one of several
findings with the same fingerprint, and treats a finding as new if its fingerprint is new.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from perflint.catalogue import FILE_CODES
from perflint.findings import Finding, ImpactLevel
from perflint.output.report import Report, json_text
from perflint.text.source import LineTable
from perflint.text.visible import visible

_SEVERITIES = {ImpactLevel.HIGH: "major", ImpactLevel.MEDIUM: "minor", ImpactLevel.LOW: "info"}


def render(report: Report) -> Iterator[str]:
    """One JSON list."""
    prints = report.fingerprints()
    issues = [_issue(report, *pair) for pair in zip(report.findings, prints, strict=True)]
    yield json_text(issues, indent=2) + "\n"


def _issue(report: Report, finding: Finding, fingerprint: str) -> dict[str, Any]:
    lines = report.lines(finding.path)
    return {
        "check_name": finding.code,
        "description": f"{finding.code} {visible(report.message(finding))}",
        "severity": "critical" if finding.code in FILE_CODES else _severity(finding),
        "fingerprint": fingerprint,
        "location": {
            "path": report.places.shown(finding.path),
            "positions": {"begin": _position(lines, finding.start), "end": _position(lines, finding.end)},
        },
    }


def _severity(finding: Finding) -> str:
    return "info" if finding.impact is None else _SEVERITIES[finding.impact.level]


def _position(lines: LineTable, offset: int) -> dict[str, int]:
    row, column = lines.position(offset)
    return {"line": row, "column": column}
