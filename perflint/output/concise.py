"""``concise``: one line for each finding.

The mark after the code is always present, so that the lines are easy to parse: ``[*]`` means that ``--fix`` applies the
fix (with the options of this run), ``[u]`` that it needs ``--unsafe-fixes``, ``[s]`` that it is a suggestion, which
is only shown, ``[-]`` that there is no fix. With a profile, the time that the finding can save follows.
"""

from __future__ import annotations

from collections.abc import Iterator

from perflint.findings import Finding, Level
from perflint.output.report import Report, facts, message
from perflint.text.visible import visible, visible_path


def render(report: Report) -> Iterator[str]:
    """``path:row:column: CODE [mark] message`` for each finding."""
    paint = report.palette
    for finding in report.findings:
        row, column = report.lines(finding.path).position(finding.start)
        place = f"{paint.bold(visible_path(finding.path))}:{row}:{column}:"
        gain = report.gain(finding)
        mark = f"{paint.level(mark_of(report, finding))}{f' {paint.bold(gain)};' if gain else ''}"
        yield f"{place} {paint.rule(finding.code, facts(finding.code).url)} {mark} {visible(message(finding))}\n"


def mark_of(report: Report, finding: Finding) -> str:
    """What becomes of the fix of a finding in this run."""
    if finding.fix is None:
        return "[-]"
    if report.would_fix(finding):
        return "[*]"
    return "[s]" if finding.fix.level is Level.DISPLAY else "[u]"
