"""The lines that a fix changes, as a small diff for a finding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from perflint.findings import Edit
from perflint.fix.fixer import spliced
from perflint.text.source import LineTable


@dataclass(frozen=True)
class ChangedRows:
    """One removed line (``row`` is its number) or added line (``row`` is None); it differs from character ``at`` on."""

    row: int | None
    text: str
    at: int = 0


def changed_lines(lines: LineTable, edits: Sequence[Edit]) -> Iterator[ChangedRows | None]:
    """The lines that ``edits`` (sorted, not overlapping) change, in order; None means skipped unchanged lines."""
    behind = None
    for row, old, new in _blocks(lines, edits):
        if behind is not None and row > behind:
            yield None
        behind = row + len(old)
        at = [_common(*pair) for pair in zip(old, new, strict=False)]
        at += [0] * (max(len(old), len(new)) - len(at))
        yield from (ChangedRows(row + index, text, at[index]) for index, text in enumerate(old))
        yield from (ChangedRows(None, text, at[index]) for index, text in enumerate(new))


def _blocks(lines: LineTable, edits: Sequence[Edit]) -> Iterator[tuple[int, list[str], list[str]]]:
    """Rows that change: the number of the first, the old ones and the new ones."""
    for first, last, group in _groups(lines, edits):
        start, end = lines.line_start(first), lines.line_end(last)
        old = _split(lines.text[start:end])
        new = _split(spliced(lines.text, start, end, group))
        for tag, low, high, left, right in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
            if tag != "equal":
                yield first + low, old[low:high], new[left:right]


def _common(one: str, other: str) -> int:
    """How many characters two lines have in common at their start."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (left, right) in pairs if left != right), min(len(one), len(other)))


def _groups(lines: LineTable, edits: Sequence[Edit]) -> Iterator[tuple[int, int, list[Edit]]]:
    """Edits that share rows, with the first and last of these rows."""
    group: list[Edit] = []
    first = last = 0
    for edit in edits:
        top, bottom = lines.position(edit.start)[0], lines.position(edit.end)[0]
        if group and top > last:
            yield first, last, group
            group = []
        first = first if group else top
        last = max(last, bottom)
        group.append(edit)
    if group:
        yield first, last, group


def _split(text: str) -> list[str]:
    table = LineTable(text)
    rows = [table.line(row) for row in range(1, table.rows + 1)]
    return rows if rows[-1] else rows[:-1]
