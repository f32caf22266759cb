"""Shows the edit of a finding in a few lines, below the code frame."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from perflint.findings import Finding, Fix, Level
from perflint.fix.fixer import complete_edits
from perflint.output.fix_lines import ChangedRows, changed_lines
from perflint.output.report import Report
from perflint.text.source import LineTable
from perflint.text.visible import clip, counted

_LONGEST = 50_000
"""The most characters of a row to show in its old and new form."""
_ALL = {
    Level.SAFE: "--diff",
    Level.UNSAFE: "--diff --unsafe-fixes",
    Level.DISPLAY: "--output-format json",
}
"""The options that show the whole edit of a fix, by its level."""


@dataclass(frozen=True)
class ChangedBlock:
    """Lines that change together; ``row`` is the number of the first old line (None: there are only new lines)."""

    row: int | None
    lines: Sequence[ChangedRows]


def edit_lines(report: Report, finding: Finding, fix: Fix, gutter: int, room: int, columns: int) -> Iterator[str]:
    """The lines that a fix changes, beginning with those of the finding, whose old lines the frame shows.

    Args:
        report: the report that contains the finding.
        finding: the finding.
        fix: its fix.
        gutter: the width of line numbers.
        room: the number of lines to use at most.
        columns: the width of the code that is shown.
    """
    table = report.lines(finding.path)
    if any(len(table.line(table.position(edit.start)[0])) > _LONGEST for edit in fix.edits):
        yield f"{' ' * gutter} ... a line too long to show: {_ALL[fix.level]}"
        return
    row, _ = table.position(finding.start)
    blocks = [_without_frame(block, row) for block in _blocks(table, fix)]
    blocks.sort(key=lambda block: block.row != row)
    lines = [line for block in blocks for line in (None, *block.lines)][1:]
    shown = lines if len(lines) <= room else lines[: max(1, room - 1)]
    yield from (_line(report, line, gutter, columns) for line in shown)
    left = sum(line is not None for line in lines[len(shown) :])
    if left:
        yield report.palette.frame(f"{' ' * gutter} ... {counted(left, 'more line')}: {_ALL[fix.level]}")


def _blocks(table: LineTable, fix: Fix) -> Iterator[ChangedBlock]:
    """The blocks of a fix, in their order in the file."""
    lines: list[ChangedRows] = []
    for line in (*changed_lines(table, complete_edits(table.text, fix)), None):
        if line is not None:
            lines.append(line)
        elif lines:
            yield ChangedBlock(lines[0].row, lines)
            lines = []


def _without_frame(block: ChangedBlock, row: int) -> ChangedBlock:
    """A block without the old line that the frame shows, if new lines replace it."""
    if block.row != row or all(line.row for line in block.lines):
        return block
    return ChangedBlock(row, block.lines[1:])


def _line(report: Report, line: ChangedRows | None, gutter: int, columns: int) -> str:
    if line is None:
        return report.palette.frame(f"{' ' * gutter} ...")
    text, _, _ = clip(line.text, line.at, line.at, columns)
    if line.row:
        return report.palette.removed(f"{line.row:>{gutter}} - {text}".rstrip())
    return report.palette.added(f"{'':>{gutter}} + {text}".rstrip())
