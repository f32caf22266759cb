"""``json-lines``: the objects of ``json``, one on each line, so that a reader need not wait for the end."""

from __future__ import annotations

from collections.abc import Iterator

from perflint.output.json import data
from perflint.output.json_text import json_text
from perflint.output.report import Report


def render(report: Report) -> Iterator[str]:
    """A line for each finding."""
    for finding in report.findings:
        yield json_text(data(report, finding)) + "\n"
