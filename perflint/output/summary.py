"""The closing line of a run: how many findings there are, in how many files, and how many can be fixed."""

from __future__ import annotations

from collections.abc import Iterable

from perflint.findings import Finding, Level
from perflint.fix.fixer import FixOutcome
from perflint.text.wording import counted


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
