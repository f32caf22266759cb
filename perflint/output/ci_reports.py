"""Formats for CI: ``github`` (workflow commands), ``gitlab`` (code quality), ``junit`` (test cases) and ``rdjson``."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any
from xml.etree import ElementTree

from perflint.catalogue import FILE_CODES, HOME
from perflint.findings import Finding, ImpactLevel, Level, by_path
from perflint.fix.fixer import complete_edits, spliced
from perflint.output.report import STDIN, Report, facts, json_text, severity, valid
from perflint.text.visible import visible

_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}
_OF_IMPACT = {ImpactLevel.HIGH: "major", ImpactLevel.MEDIUM: "minor", ImpactLevel.LOW: "info"}
_NONE = {"failures": "0", "errors": "0"}
_OF_REVIEWDOG = {"error": "ERROR", "warning": "WARNING", "note": "INFO"}
_BOM_BYTES = 3
_MOST_ROWS = 60
"""The most rows of a suggestion. A longer one would fill a review with unchanged code."""

# -- github -----------------------------------------------------------------------------------------------------------
#
# Workflow commands, which GitHub Actions shows as annotations in the code; see
# https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands. The columns of an annotation
# only mean something within one row, so a finding of several rows has no columns.


def render_github(report: Report) -> Iterator[str]:
    """A command for each finding; its message begins with the place, which the log would not show otherwise."""
    for finding in report.findings:
        place, lines = report.places.shown(finding.path), report.lines(finding.path)
        (row, column), (end_row, end_column) = lines.position(finding.start), lines.position(finding.end)
        columns = (
            {"col": column, "endLine": end_row, "endColumn": end_column} if row == end_row else {"endLine": end_row}
        )
        text = f"{visible(place)}:{row}:{column}: {finding.code} {visible(report.message(finding))}"
        properties = {"title": f"perflint ({finding.code})", "file": place, "line": row, **columns}
        written = ",".join(f"{name}={_property(str(value))}" for name, value in properties.items())
        yield f"::{_COMMANDS[severity(finding)]} {written}::{_data(text)}\n"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(visible(text, keep="\r\n")).replace(":", "%3A").replace(",", "%2C")


# -- gitlab -----------------------------------------------------------------------------------------------------------
#
# A code quality report, which GitLab compares with that of the target branch; see
# https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format. GitLab shows only one of several
# findings with the same fingerprint, and treats a finding as new if its fingerprint is new.


def render_gitlab(report: Report) -> Iterator[str]:
    """One JSON list."""
    issues = [_issue(report, *pair) for pair in zip(report.findings, report.fingerprints(), strict=True)]
    yield json_text(issues, indent=2) + "\n"


def _issue(report: Report, finding: Finding, fingerprint: str) -> dict[str, Any]:
    level = "info" if finding.impact is None else _OF_IMPACT[finding.impact.level]
    ends = (report.lines(finding.path).position(offset) for offset in (finding.start, finding.end))
    begin, end = ({"line": row, "column": column} for row, column in ends)
    return {
        "check_name": finding.code,
        "description": f"{finding.code} {visible(report.message(finding))}",
        "severity": "critical" if finding.code in FILE_CODES else level,
        "fingerprint": fingerprint,
        "location": {"path": report.places.shown(finding.path), "positions": {"begin": begin, "end": end}},
    }


# -- junit ------------------------------------------------------------------------------------------------------------
#
# A failed test case for each finding, for CI systems that show test results (Jenkins, GitLab, ...). There is no
# standard; the elements are those that all readers support, as collected in https://github.com/testmoapp/junitxml.
# A reader may keep only one of several cases with the same name, so the names contain the place.


def render_junit(report: Report) -> Iterator[str]:
    """One XML document in ASCII, with a test suite for each file that has findings."""
    root = ElementTree.Element("testsuites", {"name": "perflint", **_counts(report.findings)})
    for path, findings in by_path(report.findings).items():
        _add_suite(root, report, path, findings)
    if not report.findings:
        suite = ElementTree.SubElement(root, "testsuite", {"name": "perflint", "tests": "1", **_NONE})
        ElementTree.SubElement(suite, "testcase", {"classname": "perflint", "name": "no findings"})
        root.set("tests", "1")
    ElementTree.indent(root)
    yield ElementTree.tostring(root, encoding="us-ascii", xml_declaration=True).decode("ascii") + "\n"


def _add_suite(root: ElementTree.Element, report: Report, path: str, findings: Sequence[Finding]) -> None:
    place = visible(report.places.shown(path))
    suite = ElementTree.SubElement(root, "testsuite", {"name": place, **_counts(findings)})
    for finding in findings:
        row, column = report.lines(path).position(finding.start)
        name = f"{finding.code} {facts(finding.code).name} ({row}:{column})"
        case = {"classname": place, "name": name, "file": place, "line": str(row)}
        failed = ElementTree.SubElement(
            ElementTree.SubElement(suite, "testcase", case),
            "error" if finding.code in FILE_CODES else "failure",
            {"message": visible(report.message(finding)), "type": finding.code},
        )
        failed.text = "\n".join(map(visible, _text(report, finding, f"{place}:{row}:{column}")))


def _text(report: Report, finding: Finding, place: str) -> Iterator[str]:
    yield f"{place}: {finding.code} {report.message(finding)}"
    if finding.fix:
        yield f"fix ({finding.fix.level}): {finding.fix.message}"
    for related in finding.related:
        yield f"see {report.places.shown(related.path)}:{related.line}: {related.message}"
    if url := facts(finding.code).url:
        yield url


def _counts(findings: Sequence[Finding]) -> dict[str, str]:
    errors = sum(finding.code in FILE_CODES for finding in findings)
    return {"tests": str(len(findings)), "failures": str(len(findings) - errors), "errors": str(errors)}


# -- rdjson -----------------------------------------------------------------------------------------------------------
#
# The diagnostic format of reviewdog; see https://github.com/reviewdog/reviewdog/tree/master/proto/rdf. Columns count
# bytes in UTF-8 from 1, ends are exclusive. Paths are relative to the directory that reviewdog runs in, not to the top
# of the repository: reviewdog prepends its own place in the repository.


def render_rdjson(report: Report) -> Iterator[str]:
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
        "severity": _OF_REVIEWDOG[severity(finding)],
        "code": {"value": finding.code, **({"url": url} if url else {})},
    }
    if suggestion := _suggestion(report, finding):
        diagnostic["suggestions"] = [suggestion]
    if finding.related:
        diagnostic["related_locations"] = [
            {
                "message": valid(place.message),
                "location": {"path": _path(place.path), "range": {"start": {"line": place.line}}},
            }
            for place in finding.related
        ]
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
    lines, fix = report.lines(finding.path), finding.fix
    edits = complete_edits(lines.text, fix) if fix is not None and fix.level is not Level.DISPLAY else ()
    if not edits:
        return None
    start, end = edits[0].start, max(edit.end for edit in edits)
    if lines.position(end)[0] - lines.position(start)[0] >= _MOST_ROWS:
        return None
    return {"range": _range(report, finding.path, start, end), "text": valid(spliced(lines.text, start, end, edits))}


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
