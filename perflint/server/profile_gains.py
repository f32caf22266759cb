"""Adds the gains from the profile that the settings name to the findings of a document."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from perflint import catalogue
from perflint.commands.watch import Stamp, stamp_of
from perflint.findings import Finding
from perflint.ranking.profile_files import open_profile
from perflint.ranking.ranked import rank
from perflint.ranking.shares import Profiled, UnusableProfile
from perflint.server.logs import Complaint, Tell
from perflint.text.source import Source


class ProfileGains:
    """A profile, which is read again when its file changes.

    The user is told once if it cannot be used.
    """

    def __init__(self, tell: Tell) -> None:
        self._problem = Complaint(tell)
        self._file: tuple[Path | None, Stamp | None] = None, None
        self._profile: Profiled | None = None

    def look(self, path: Path | None) -> None:
        """Read the profile again if it has changed; the file need not exist, and None means no profile."""
        file = path, stamp_of(path) if path is not None else None
        if file == self._file:
            return
        self._file, self._profile = file, None
        problem = ""
        try:
            self._profile = open_profile(path) if path is not None and file[1] is not None else None
        except UnusableProfile as error:
            problem = f"{path} cannot be used as a profile: {error}"
        self._problem.update(problem)

    def told(self, source: Source, findings: list[Finding]) -> list[Finding]:
        """Findings of one file, each with what it can save after its message."""
        if self._profile is None or not findings:
            return findings
        ranking = rank([self._profile], findings, {source.path: source}, catalogue.shipped())
        return [_told(finding, ranking.of(finding).text) for finding in findings]


def _told(finding: Finding, gain: str) -> Finding:
    return replace(finding, message=f"{finding.message} Profile: {gain}.") if gain else finding
