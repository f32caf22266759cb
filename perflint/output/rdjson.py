"""``rdjson``: the diagnostic format of reviewdog.

See https://github.com/reviewdog/reviewdog/tree/master/proto/rdf. Columns count bytes in UTF-8 from 1, ends are
exclusive. Paths are relative to the directory that reviewdog runs in, not to the top of the repository: reviewdog
prepends its own place in the repository.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from perflint.catalogue import HOME
from perflint.findings import Finding, Level, Related
from perflint.fix.fixer import complete_edits, spliced
from perflint.output.report import STDIN, Report, facts, json_text, severity, valid

_SEVERITIES = {"error": "ERROR", "warning": "WARNING", "note": "INFO"}
_BOM_BYTES = 3
_MOST_ROWS = 60
"""The most rows of a suggestion. A longer one would fill a review with unchanged code."""


def render(report: Report) -> Iterator[str]:
    """One JSON object, a ``DiagnosticResult``."""
    result = {
        "source": {"name": "perflint", "url": HOME},
        "severity": "WARNING",
        "diagnostics": [_diagnostic(report, finding) for finding in report.findings],
    }
    yield json_text(result, indent=2) + "\n"


def _diagnostic(report: Report, finding: Finding) -> dict[str, Any]:
    url = facts(finding.code).url
    diagnostic: dict[str, Any] = {
        "message": valid(_message(report, finding)),
        "location": {"path": _path(finding.path), "range": _range(report, finding.path, finding.start, finding.end)},
        "severity": _SEVERITIES[severity(finding)],
        "code": {"value": finding.code, **({"url": url} if url else {})},
    }
    if suggestion := _suggestion(report, finding):
        diagnostic["suggestions"] = [suggestion]
    if finding.related:
        diagnostic["related_locations"] = [_related(place) for place in finding.related]
    return diagnostic


def _message(report: Report, finding: Finding) -> str:
    """The message, and what to know before accepting the fix with a click."""
    fix = finding.fix
    if fix is None or fix.level is Level.SAFE:
        return report.message(finding)
    what = "Suggestion" if fix.level is Level.DISPLAY else "Unsafe fix"
    return f"{report.message(finding)}\n{what}: {fix.message}" + (f" ({fix.reason})" if fix.reason else "")


def _suggestion(report: Report, finding: Finding) -> dict[str, Any] | None:
    """The whole fix as one replacement: reviewdog offers each suggestion separately, and half a fix is useless."""
    if finding.fix is None or finding.fix.level is Level.DISPLAY:
        return None
    lines = report.lines(finding.path)
    edits = complete_edits(lines.text, finding.fix)
    if not edits:
        return None
    start, end = edits[0].start, max(edit.end for edit in edits)
    if lines.position(end)[0] - lines.position(start)[0] >= _MOST_ROWS:
        return None
    return {"range": _range(report, finding.path, start, end), "text": valid(spliced(lines.text, start, end, edits))}


def _related(place: Related) -> dict[str, Any]:
    location = {"path": _path(place.path), "range": {"start": {"line": place.line}}}
    return {"message": valid(place.message), "location": location}


def _range(report: Report, path: str, start: int, end: int) -> dict[str, Any]:
    return {"start": _position(report, path, start), "end": _position(report, path, end)}


def _position(report: Report, path: str, offset: int) -> dict[str, int]:
    row, column = report.lines(path).position(offset)
    before = report.lines(path).text[offset - column + 1 : offset]
    source = report.sources.get(path)
    hidden = _BOM_BYTES if row == 1 and source is not None and source.bom else 0
    return {"line": row, "column": len(before.encode("utf-8", "surrogatepass")) + hidden + 1}


def _path(path: str) -> str:
    if path == STDIN:
        return STDIN
    try:
        return valid(os.path.relpath(path).replace(os.sep, "/"))
    except ValueError:  # the paths are on different drives
        return valid(path.replace(os.sep, "/"))
