"""``json``: the same objects as Ruff, so that the same programs can read them, plus some more keys.

The additional keys are ``bottleneck``, ``confidence``, ``impact``, ``related``, ``rows`` (the rows on which its
expressions begin), ``step`` (the training step that it belongs to: the row of its loop, or the function of which each
call is a step, and then row 0), ``fix.reason``, ``fix.paddle`` if an edit needs a certain release of Paddle, and
``profile`` if a profile was given (see ``gain_data``). ``fix.applicability`` can also be ``display``. Rows and columns
count from 1, columns in code points; ends are exclusive.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from perflint.catalogue import FILE_CODES
from perflint.findings import Edit, Finding
from perflint.fix.fixer import complete_edits
from perflint.output.report import Report, facts, json_text
from perflint.ranking.ranked import Bound
from perflint.text.source import LineTable


def gain_data(bound: Bound) -> dict[str, Any]:
    """The share of the step (0 to 1), how many times as fast the step can get, and how that was found.

    ``share`` is None if nothing is known, ``at_most`` is None if nothing limits the gain; ``more`` says why.
    """
    return {
        "grade": str(bound.grade),
        "share": None if bound.share is None else round(bound.share, 6),
        "at_most": None if bound.at_most is None else round(bound.at_most, 4),
        "by": bound.by or None,
        "shared_by": bound.shared,
        "more": bound.more or None,
        "file": bound.profile or None,
    }


def render(report: Report) -> Iterator[str]:
    """One JSON list."""
    yield json_text([data(report, finding) for finding in report.findings], indent=2) + "\n"


def data(report: Report, finding: Finding) -> dict[str, Any]:
    """One finding as JSON-ready values."""
    table = report.lines(finding.path)
    about = facts(finding.code)
    gain = {"profile": gain_data(report.ranking.of(finding))} if report.ranking is not None else {}
    return {
        "cell": None,
        "code": finding.code,
        "name": about.name,
        "message": finding.message,
        "severity": "error" if finding.code in FILE_CODES else "warning",
        "bottleneck": about.bottleneck,
        "confidence": str(finding.confidence),
        "impact": _impact(finding),
        **gain,
        "filename": _absolute(finding.path),
        "location": _place(table, finding.start),
        "end_location": _place(table, finding.end),
        "rows": sorted({table.position(start)[0] for start in finding.starts}),
        "noqa_row": _noqa_row(table, finding),
        "fix": _fix(table, finding),
        "related": [
            {"filename": _absolute(place.path), "row": place.line, "message": place.message}
            for place in finding.related
        ],
        "step": _step(finding),
        "url": about.url,
    }


def _impact(finding: Finding) -> dict[str, str] | None:
    impact = finding.impact
    return {"level": str(impact.level), "reason": impact.reason} if impact is not None else None


def _step(finding: Finding) -> dict[str, Any] | None:
    step = finding.step
    return {"filename": _absolute(step.path), "row": step.row, "function": step.function} if step is not None else None


def _fix(table: LineTable, finding: Finding) -> dict[str, Any] | None:
    if finding.fix is None:
        return None
    edits = complete_edits(table.text, finding.fix)
    data = {
        "applicability": finding.fix.level.applicability,
        "message": finding.fix.message,
        "reason": finding.fix.reason or None,
        "edits": [_edit(table, edit) for edit in edits],
    }
    return {**data, "paddle": finding.fix.paddle} if finding.fix.paddle else data


def _edit(table: LineTable, edit: Edit) -> dict[str, Any]:
    return {"content": edit.content, "location": _place(table, edit.start), "end_location": _place(table, edit.end)}


def _place(table: LineTable, offset: int) -> dict[str, int]:
    row, column = table.position(offset)
    return {"row": row, "column": column}


def _noqa_row(table: LineTable, finding: Finding) -> int | None:
    if finding.code in FILE_CODES:
        return None
    return table.position(finding.statement[0] if finding.statement else finding.start)[0]


def _absolute(path: str) -> str:
    return path if path == "-" else str(Path(path).absolute())


def render_lines(report: Report) -> Iterator[str]:
    """``json-lines``: the same objects, one on each line, so that a reader need not wait for the end."""
    for finding in report.findings:
        yield json_text(data(report, finding)) + "\n"
