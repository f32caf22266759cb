"""The text of one file once its fixes are made, round after round, as ``perflint check --fix`` makes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from perflint.findings import Finding, Level
from perflint.fix.fixer import fix_all
from perflint.text.source import Source

Wanted = Callable[[Source, list[Finding]], list[Finding]]
"""Which of the findings of a file to fix."""


def of_rule(findings: list[Finding], code: str | None) -> list[Finding]:
    """The findings of one rule, or all of them without a code."""
    return [finding for finding in findings if code is None or finding.code == code]


def fixed_text(source: Source, check: Callable[[str], list[Finding]], level: Level, wanted: Wanted) -> str:
    """The text after all fixes of ``level`` and above.

    Args:
        source: the file.
        check: finds what is in the file with another text.
        level: the least level.
        wanted: which findings to fix.
    """

    def found(sources: Mapping[str, Source]) -> list[Finding]:
        now = sources[source.path]
        return wanted(now, check(now.text))

    outcome = fix_all({source.path: source}, found, level)
    return outcome.changed.get(source.path, source).text
