"""``full``: each finding with its code, the fix as a small diff, and why."""

from __future__ import annotations

from collections.abc import Iterator

from perflint.findings import Finding, Fix, Level
from perflint.fix.fixer import complete_edits
from perflint.output.fix_lines import ChangedRows, changed_lines
from perflint.output.frame import frame
from perflint.output.report import Report
from perflint.output.rule_facts import facts
from perflint.text.visible import visible, visible_path
from perflint.text.width import clip

_LABELS = {Level.SAFE: "[safe fix]", Level.UNSAFE: "[unsafe fix]", Level.DISPLAY: "[suggestion]"}
_LONGEST = 50_000
"""Characters of a row that is shown as it is and as it would be."""
_MOST = 24
"""Changed lines shown for one fix."""


def render(report: Report) -> Iterator[str]:
    """The findings one after the other, each followed by an empty line."""
    for finding in report.findings:
        yield "\n".join([*_lines(report, finding), "", ""])


def _lines(report: Report, finding: Finding) -> Iterator[str]:
    paint = report.palette
    table = report.lines(finding.path)
    row, column = table.position(finding.start)
    label = f" {paint.level(_LABELS[finding.fix.level])}" if finding.fix else ""
    shown = paint.bold(f"{visible_path(finding.path)}:{row}:{column}")
    yield f"{shown} {paint.code(finding.code)}{label} {visible(finding.message)}"
    if table.text:
        yield from frame(table, finding.start, finding.end, paint)
    about = facts(finding.code)
    if about.bottleneck:
        yield f"  {paint.frame('= bottleneck:')} {about.bottleneck} ({about.name})"
    if finding.impact:
        yield f"  {paint.frame('= impact:')} {finding.impact.level}: {visible(finding.impact.reason)}"
    if gain := report.gain(finding):
        yield f"  {paint.frame('= profile:')} {gain}"
    if finding.fix:
        yield from _fix(report, finding.path, finding.fix)
    for place in finding.related:
        yield f"  {paint.frame('= see')} {visible(place.path)}:{place.line}: {visible(place.message)}"


def _fix(report: Report, path: str, fix: Fix) -> Iterator[str]:
    paint = report.palette
    if fix.level is Level.DISPLAY:
        yield f"  {paint.frame('= suggestion (never applied):')} {visible(fix.message)}"
    else:
        yield f"  {paint.frame(f'= fix ({fix.level}):')} {visible(fix.message)}"
    yield from _diff(report, path, fix)
    if fix.reason and fix.level is not Level.SAFE:
        yield f"  {paint.frame('= reason:')} {visible(fix.reason)}"


def _diff(report: Report, path: str, fix: Fix) -> Iterator[str]:
    """The lines that the fix changes, as they are and as they would be."""
    table = report.lines(path)
    if any(len(table.line(table.position(edit.start)[0])) > _LONGEST for edit in fix.edits):
        yield "    (the row is too long to be shown as it would be: --diff)"
        return
    changed = list(changed_lines(table, complete_edits(table.text, fix)))
    gutter = max((len(str(line.row)) for line in changed if line and line.row), default=1)
    for line in changed[:_MOST]:
        yield "    " + _changed(report, line, gutter)
    left = sum(line is not None for line in changed[_MOST:])
    if left:
        yield f"    {' ' * gutter} ... {left} more lines (all of them: --diff)"


def _changed(report: Report, line: ChangedRows | None, gutter: int) -> str:
    if line is None:
        return report.palette.frame("." * gutter)
    text, _, _ = clip(line.text, line.at, line.at)
    if line.row:
        return report.palette.removed(f"{line.row:>{gutter}} - {text}".rstrip())
    return report.palette.added(f"{'':>{gutter}} + {text}".rstrip())
