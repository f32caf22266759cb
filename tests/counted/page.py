"""The page docs/counted.md: what the fix of each rule removes, as it was counted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from perflint.catalogue import Rule

from .checking import Sides, figure
from .table import Row

_INTRODUCTION = """\
# What each fix removes, counted

A small training script with a rule's mistake runs a few steps, before and after the rule's fix, and what the host does
is counted: reads of tensors, copies, files, kernel launches. Counts need no GPU, are the same in each run, and say
nothing about time; [measured.md](measured.md) has the times.
[How this is counted](measuring.md#counting-instead-of-timing) explains the rest. `python -m tests.counted` writes this
page with Paddle 3.3.1 on the CPU, and the tests compare it with a new count.

*Launches* are kernel launches in dynamic graphs, forward, backward and update, in one step of the script. If a fix
launches more kernels than before, the remarks say which, and the test allows only these.
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
    more = "1 more launch" if row.launches == 1 else f"{row.launches:g} more launches"
    because = f"{more}: {row.because}" if row.launches else ""
    by_hand = "perflint makes no edit, so the fixed script was written by hand" if row.by_hand.exists() else ""
    return "; ".join(part for part in (because, row.note, by_hand) if part)


def _uncounted(rule: Rule, timed: Sequence[str]) -> str:
    where = "its gain is measured in ips" if rule.code in timed else "neither measured nor counted"
    return f"* [{rule.code}](rules/{rule.code}.md) {rule.name}: {where}."
