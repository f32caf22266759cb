"""Leaves out the findings of an impact below ``--min-impact``, and says how many they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from perflint.configuration.settings import Settings
from perflint.findings import Finding, ImpactLevel
from perflint.text.source import Source
from perflint.text.visible import counted


class LowImpact:
    """The findings of a run that cost too little to be shown under its settings."""

    def __init__(self, settings: Settings, is_told: bool = True) -> None:
        """``is_told``: ``closing`` counts them; a run that shows only new findings need not hear of them each time."""
        self._least = settings.min_impact
        self._is_told = is_told
        self._hidden = 0

    def left(self, findings: Sequence[Finding], sources: Mapping[str, Source]) -> list[Finding]:
        """The findings of enough impact, and those of rules that have none."""
        shown = [finding for finding in findings if finding.impact is None or finding.impact.level >= self._least]
        self._hidden = len(findings) - len(shown)
        return shown

    def closing(self) -> str:
        """How many findings the last answer left out, such as ``3 findings of low impact are not shown``"""
        if not self._hidden or not self._is_told:
            return ""
        what = "low impact" if self._least is ImpactLevel.MEDIUM else "lower impact"
        verb = "is" if self._hidden == 1 else "are"
        return f"{counted(self._hidden, 'finding')} of {what} {verb} not shown (--min-impact low)."

    def notes(self) -> list[str]:
        """Nothing."""
        return []
