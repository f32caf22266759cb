"""The page docs/counted.md: what the fix of each rule removes, as it was counted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from perflint.catalogue import Rule

from .checking import Sides, figure
from .table import Row

_INTRODUCTION = """\
# What each fix removes, counted

A small training script with the mistake of a rule runs a few steps, as it stands and after the rule's own fix, and what
it has the host do is counted: reads of tensors, copies, files, kernels that are launched. Counts need no GPU, are the
same at each run, and say nothing about seconds; [measured.md](measured.md) has those.
[How that is counted](measuring.md#counted-in-place-of-timed) explains the rest. `python -m tests.counted` writes this
page with Paddle 3.3.1 on the CPU, and the tests compare it with a new count.

*Launches* are kernels of dynamic graphs, forward, backward and update, in one step of the script. Where a fix launches
more of them than before, the remarks say what they are, and the test allows so many and no more.
"""
_HEADER = "| rule | counted | in each | before | after | launches |", "| --- | --- | --- | --- | --- | --- |"


def page(counts: Mapping[str, Sides], rows: Mapping[str, Row], rules: Sequence[Rule], timed: Sequence[str]) -> str:
    """The page in Markdown.

    Args:
        counts: what was counted, by the code of the rule.
        rows: how it was counted.
        rules: the rules about performance.
        timed: codes of the rules with a gain in ips that was measured.
    """
    by_code = {rule.code: rule for rule in rules}
    sections = {
        "Counts": [*_HEADER, *(line for code in counts for line in _lines(by_code[code], rows[code], counts[code]))],
        "Remarks": [f"* {code}: {text}." for code in counts if (text := _remark(rows[code]))],
        "Not counted": [_uncounted(rule, timed) for rule in rules if rule.code not in rows],
    }
    parts = [_INTRODUCTION, *("\n".join([f"## {name}", "", *lines]) for name, lines in sections.items())]
    return "\n\n".join(part.rstrip() for part in parts) + "\n"


def _lines(rule: Rule, row: Row, sides: Sides) -> Iterator[str]:
    """The lines of a rule in the table, one for each figure."""
    name = f"[{rule.code}](rules/{rule.code}.md) {rule.name}"
    launches = "{} → {}".format(*(_number(each) for each in figure(sides, "launches"))) if row.launched else ""
    for counted in row.figures:
        before, after = (_number(each) for each in figure(sides, counted))
        yield f"| {name} | {counted} | {row.per if name else ''} | {before} | {after} | {launches} |"
        name = launches = ""


def _number(value: float) -> str:
    return f"{value:,.10g}"


def _remark(row: Row) -> str:
    more = "1 launch more" if row.launches == 1 else f"{row.launches:g} launches more"
    because = f"{more}: {row.because}" if row.launches else ""
    by_hand = "the fix is words, so the fixed script was written by hand" if row.by_hand.exists() else ""
    return "; ".join(part for part in (because, row.note, by_hand) if part)


def _uncounted(rule: Rule, timed: Sequence[str]) -> str:
    where = "its gain is measured in ips" if rule.code in timed else "neither measured nor counted"
    return f"* [{rule.code}](rules/{rule.code}.md) {rule.name}: {where}."
