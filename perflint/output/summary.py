"""The closing line of a run: how many findings there are, in how many files, and how many can be fixed."""

from __future__ import annotations

from collections.abc import Iterable

from perflint.findings import Finding, Level
from perflint.fix.fixer import FixOutcome
from perflint.output.report import Report
from perflint.text.visible import visible_path
from perflint.text.wording import counted

_FIRST = 3
"""Findings that the closing line names."""


def found(findings: Iterable[Finding], files: int, applicable: Level) -> str:
    """For a run that only looks; ``files`` is how many were checked."""
    findings = list(findings)
    if not findings:
        return f"No findings in {counted(files, 'file')}."
    flags = "--fix" if applicable is Level.SAFE else "--fix --unsafe-fixes"
    fixable = sum(finding.fix is not None and finding.fix.level >= applicable for finding in findings)
    notes = [f"{fixable} fixable with {flags}"] if fixable else []
    notes += _more(findings, applicable, first=not fixable)
    return _found(len(findings), {finding.path for finding in findings}) + _bracketed(notes)


def most_to_win(report: Report) -> str:
    """Where to begin, if some findings can cost more than others: three of them, at most one of a rule in a file.

    With a profile its figures decide, and it is said what they leave out.
    """
    if report.ranking is not None:
        closing = report.ranking.closing()
        if said := report.ranking.most_to_win(report.sources):
            return said + closing
        return _by_impact(report) + closing
    return _by_impact(report)


def _by_impact(report: Report) -> str:
    known = [(finding.impact, finding) for finding in report.findings if finding.impact is not None]
    if len(known) <= _FIRST or len({(impact.level, impact.milliseconds) for impact, _ in known}) < 2:
        return ""
    known.sort(key=lambda pair: (-pair[0].level, -pair[0].milliseconds))
    places: dict[tuple[str, str], str] = {}
    for impact, finding in known:
        row, _ = report.lines(finding.path).position(finding.start)
        said = f"{visible_path(finding.path)}:{row} {finding.code} ({impact.level})"
        places.setdefault((finding.path, finding.code), said)
    return f" Most to win: {', '.join(list(places.values())[:_FIRST])}."


def fixed(outcome: FixOutcome) -> str:
    """For ``--fix``: what was fixed, what remains."""
    return _outcome(outcome, f"{outcome.fixed_count} fixed, {len(outcome.remaining)} remaining")


def would_fix(outcome: FixOutcome) -> str:
    """For ``--diff``."""
    return _outcome(outcome, f"{outcome.fixed_count} would be fixed, {len(outcome.remaining)} would remain")


def _outcome(outcome: FixOutcome, counts: str) -> str:
    total = outcome.fixed_count + len(outcome.remaining)
    if not total:
        return "No findings."
    paths = {path for path, _ in outcome.fixed} | {finding.path for finding in outcome.remaining}
    return _found(total, paths) + _bracketed([counts, *_more(outcome.remaining, outcome.level)])


def _found(total: int, paths: set[str]) -> str:
    return f"Found {counted(total, 'finding')} in {counted(len(paths), 'file')}"


def _more(findings: Iterable[Finding], applicable: Level, first: bool = False) -> list[str]:
    if applicable is not Level.SAFE:
        return []
    unsafe = sum(finding.fix is not None and finding.fix.level is Level.UNSAFE for finding in findings)
    if not unsafe:
        return []
    return [f"{unsafe} fixable with --fix --unsafe-fixes" if first else f"{unsafe} more with --unsafe-fixes"]


def _bracketed(notes: list[str]) -> str:
    return f" ({'; '.join(notes)})." if notes else "."
