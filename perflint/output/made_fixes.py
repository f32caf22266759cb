"""The lines after ``--fix`` that say what was fixed, and where it stood before.

Fixed:
  train.py:12, 15 PPF201: keep the running sum on the device
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from perflint.fix.fixer import FixOutcome, Made
from perflint.text.source import Source
from perflint.text.visible import listed, visible, visible_path

_MOST = 5
"""How many rows a line names."""


def lines(outcome: FixOutcome, before: Mapping[str, Source]) -> list[str]:
    """One line for each rule, file and kind of edit, after a title; none if nothing was fixed.

    Args:
        outcome: what was fixed.
        before: the files as they were.
    """
    rows: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    for made, row in _with_rows(outcome, before):
        finding = made.finding
        rows[finding.path, finding.code, finding.fix.message if finding.fix else ""] += [row] if row else []
    found = []
    for (path, code, what), places in sorted(rows.items()):
        where = f":{listed([str(row) for row in sorted(set(places))], _MOST)}" if places else ""
        found.append(f"  {visible_path(path)}{where} {code}: {visible(what)}")
    return ["Fixed:", *found] if found else []


def _with_rows(outcome: FixOutcome, before: Mapping[str, Source]) -> Iterator[tuple[Made, int]]:
    """What was applied in the files that changed, and its row in the old text; 0 if it has none there.

    A fix of a later round is found there by the text of its row, since edits of earlier rounds have moved it.
    """
    known: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    for finding in outcome.first:
        if finding.path in outcome.changed:
            table = before[finding.path].lines
            row = table.position(finding.start)[0]
            known[finding.path, finding.code, table.line(row).strip()].append(row)
    for made in (made for each in outcome.applied for made in each):
        if made.finding.path in outcome.changed:
            left = known[made.finding.path, made.finding.code, made.row]
            yield made, left.pop(0) if left else 0
