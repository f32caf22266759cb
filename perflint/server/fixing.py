"""The text of one file once its fixes are made, round after round, as ``perflint check --fix`` makes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from perflint.findings import Finding, Level
from perflint.fixer import fix_all
from perflint.source import Source


def fixed_text(source: Source, check: Callable[[str], list[Finding]], level: Level, code: str | None = None) -> str:
    """The text after all fixes of ``level`` and above.

    Args:
        source: the file.
        check: finds what is in the file with another text.
        level: the least level.
        code: make the fixes of this rule only.
    """

    def found(sources: Mapping[str, Source]) -> list[Finding]:
        findings = check(sources[source.path].text)
        return [finding for finding in findings if code is None or finding.code == code]

    outcome = fix_all({source.path: source}, found, level)
    return outcome.changed.get(source.path, source).text
