"""``github``: workflow commands, which GitHub Actions shows as annotations in the code.

See https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands. The columns of an annotation
only mean something within one row, so a finding of several rows has no columns.
"""

from __future__ import annotations

from collections.abc import Iterator

from perflint.findings import Finding
from perflint.output.report import Report, severity
from perflint.text.visible import visible

_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}


def render(report: Report) -> Iterator[str]:
    """A command for each finding; its message begins with the place, which the log would not show otherwise."""
    for finding in report.findings:
        place = report.places.shown(finding.path)
        row, column = report.lines(finding.path).position(finding.start)
        text = f"{visible(place)}:{row}:{column}: {finding.code} {visible(report.message(finding))}"
        properties = {"title": f"perflint ({finding.code})", "file": place, **_range(report, finding)}
        written = ",".join(f"{name}={_property(str(value))}" for name, value in properties.items())
        yield f"::{_COMMANDS[severity(finding)]} {written}::{_data(text)}\n"


def _range(report: Report, finding: Finding) -> dict[str, int]:
    lines = report.lines(finding.path)
    row, column = lines.position(finding.start)
    end_row, end_column = lines.position(finding.end)
    if row == end_row:
        return {"line": row, "col": column, "endLine": end_row, "endColumn": end_column}
    return {"line": row, "endLine": end_row}


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(visible(text, keep="\r\n")).replace(":", "%3A").replace(",", "%2C")
