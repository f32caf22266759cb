"""The closing line of a run: how many findings there are, in how many files, and how many can be fixed."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from perflint.findings import Finding, Level
from perflint.fix.fixer import FixOutcome
from perflint.output.report import Report
from perflint.output.rule_facts import facts
from perflint.text.visible import counted, counted_of, visible_path

_FIRST = 3
"""How many findings the closing line names."""


def found(findings: Iterable[Finding], checked: Collection[str], applicable: Level) -> str:
    """The closing line of a run without fixes; ``checked`` are the paths of all files that were checked."""
    findings = list(findings)
    if not findings:
        return f"No findings in {counted(len(checked), 'file')}."
    flags = "--fix" if applicable is Level.SAFE else "--fix --unsafe-fixes"
    fixable = sum(finding.fix is not None and finding.fix.level >= applicable for finding in findings)
    notes = [f"{fixable} fixable with {flags}"] if fixable else []
    notes += _more(findings, applicable, first=not fixable)
    return _found(len(findings), {finding.path for finding in findings}, checked) + _bracketed(notes)


def explained(report: Report) -> str:
    """Where to read more about the first finding to fix; empty if no rule has a page about it."""
    known = [finding for finding in _first(report) or report.findings if facts(finding.code).url]
    return f"Why, and when to ignore it: perflint rule {known[0].code}" if known else ""


def most_to_win(report: Report) -> str:
    """The findings to begin with, if some can cost more than others: up to three, with at most one per rule and file.

    With a profile, its figures decide, and the text says what they leave out.
    """
    if report.ranking is not None:
        closing = report.ranking.closing()
        if said := report.ranking.most_to_win(report.sources):
            return said + closing
        return _by_impact(report) + closing
    return _by_impact(report)


def _by_impact(report: Report) -> str:
    places = []
    for finding in _first(report):
        row, _ = report.lines(finding.path).position(finding.start)
        level = finding.impact.level if finding.impact else ""
        places.append(f"{visible_path(finding.path)}:{row} {finding.code} ({level})")
    return f" Start with: {', '.join(places)}." if places else ""


def _first(report: Report) -> list[Finding]:
    """The findings to begin with by their impact; none if there are few, or if none costs more than another."""
    if report.ranking is not None and report.ranking.most_to_win(report.sources):
        return []  # the findings are already in the order of the profile
    known = [(finding.impact, finding) for finding in report.findings if finding.impact is not None]
    if len(known) <= _FIRST or len({(impact.level, impact.milliseconds) for impact, _ in known}) < 2:
        return []
    known.sort(key=lambda pair: (-pair[0].level, -pair[0].milliseconds))
    first: dict[tuple[str, str], Finding] = {}
    for _, finding in known:
        first.setdefault((finding.path, finding.code), finding)
    return list(first.values())[:_FIRST]


def fixed(outcome: FixOutcome, checked: Collection[str]) -> str:
    """The closing line for ``--fix``: what was fixed, and what remains."""
    return _outcome(outcome, checked, f"{outcome.fixed_count} fixed, {len(outcome.remaining)} remaining")


def would_fix(outcome: FixOutcome, checked: Collection[str]) -> str:
    """The closing line for ``--diff``."""
    counts = f"{outcome.fixed_count} would be fixed, {len(outcome.remaining)} would remain"
    return _outcome(outcome, checked, counts)


def _outcome(outcome: FixOutcome, checked: Collection[str], counts: str) -> str:
    total = outcome.fixed_count + len(outcome.remaining)
    if not total:
        return f"No findings in {counted(len(checked), 'file')}."
    paths = {path for path, _ in outcome.fixed} | {finding.path for finding in outcome.remaining}
    return _found(total, paths, checked) + _bracketed([counts, *_more(outcome.remaining, outcome.level)])


def in_files(findings: int, paths: Collection[str], checked: Collection[str]) -> str:
    """How many findings there are in how many of the files that were checked: ``3 findings in 2 of 9 files``.

    A file that could not be read counts too.
    """
    files = counted_of(len(set(paths)), len({*checked, *paths}), "file")
    return f"{counted(findings, 'finding')} in {files}"


def _found(total: int, paths: Collection[str], checked: Collection[str]) -> str:
    return f"Found {in_files(total, paths, checked)}"


def _more(findings: Iterable[Finding], applicable: Level, first: bool = False) -> list[str]:
    if applicable is not Level.SAFE:
        return []
    unsafe = sum(finding.fix is not None and finding.fix.level is Level.UNSAFE for finding in findings)
    if not unsafe:
        return []
    return [f"{unsafe} fixable with --fix --unsafe-fixes" if first else f"{unsafe} more with --unsafe-fixes"]


def _bracketed(notes: list[str]) -> str:
    return f" ({'; '.join(notes)})." if notes else "."
