"""The lines above a file's diff that say which findings its edits repair, and why some are unsafe.

    # train.py:91 PPF101: load in worker processes (unsafe: with a fixed seed the shuffle order changes)

``patch`` and ``git apply`` skip them: they ignore text that stands before a diff.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from perflint.findings import Finding, Level
from perflint.fix.fixer import FixOutcome
from perflint.text.source import Source
from perflint.text.visible import visible


def reasons(outcome: FixOutcome, source: Source) -> Iterator[str]:
    """One line for each finding of the first check whose fix is part of the diff of this file.

    Args:
        outcome: what was fixed.
        source: the file before.
    """
    for finding in _repaired(outcome, source.path):
        row, _ = source.lines.position(finding.start)
        fix = finding.fix
        assert fix is not None
        why = f" (unsafe: {fix.reason})" if fix.level is Level.UNSAFE and fix.reason else ""
        yield f"# {visible(source.path)}:{row} {finding.code}: {visible(fix.message + why)}\n"


def _repaired(outcome: FixOutcome, path: str) -> Iterable[Finding]:
    for finding in outcome.first:
        is_applied = finding.fix is not None and finding.fix.level >= outcome.level
        if finding.path == path and is_applied and (path, finding.code) in outcome.fixed:
            yield finding
