"""The settings of a directory, with the baseline and the profile that they name, read again when they change."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from perflint import catalogue
from perflint.catalogue import CatalogueError
from perflint.commands.watch import Stamp, stamp_of
from perflint.configuration.keys import ConfigError
from perflint.configuration.settings import Settings
from perflint.findings import Finding
from perflint.inputs.input_files import read_inputs
from perflint.ranking.profile_files import open_profile
from perflint.ranking.ranked import rank
from perflint.ranking.shares import Profiled, UnusableProfile
from perflint.server import client
from perflint.server.client import Complaint, EditorSettings, Tell
from perflint.server.kept import Wanted
from perflint.suppress.baseline import Baseline, BaselineError, read
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


class Configured:
    """The settings for the code in one directory, and the baseline and the profile that they name.

    The user is told once if one of them cannot be used; until it is corrected, the previous one stays in use.
    """

    def __init__(self, start: Path, tell: Tell) -> None:
        self._start = start
        self._tell = tell
        self._editor: EditorSettings | None = None
        self._stamps: list[Stamp | None] = []
        self._problem = Complaint(tell)
        self._baseline: Baseline | None = None
        self._baseline_file: tuple[Path | None, Stamp | None] = None, None
        self._baseline_problem = Complaint(tell)
        self._gains = ProfileGains(tell)
        self.settings: Settings | None = None
        """None until there are settings that can be used."""

    def look(self, editor: EditorSettings) -> None:
        """Check whether the settings, or the baseline that they name, have changed."""
        self._look_at_configuration(editor)
        if self.settings is not None:
            inputs = read_inputs([str(self._start / "any.py")], self.settings.root)
            self.settings = replace(self.settings, inputs=inputs)
        self._look_at_baseline()
        settings = self.settings
        self._gains.look(settings.root / settings.profile if settings is not None and settings.profile else None)

    def left(self, source: Source, findings: list[Finding]) -> list[Finding]:
        """The findings of one file that the baseline does not list."""
        if self._baseline is None or not findings:
            return findings
        return self._baseline.split(findings, {source.path: source}).new

    def told(self, source: Source, findings: list[Finding]) -> list[Finding]:
        """Findings of one file, with what the profile says about them in their messages."""
        return self._gains.told(source, findings)

    def wanted(self, code: str | None) -> Wanted:
        """Which findings to fix: those that are shown, or only those of one rule if a ``code`` is given."""
        return lambda source, findings: [each for each in self.left(source, findings) if code in (None, each.code)]

    def _look_at_configuration(self, editor: EditorSettings) -> None:
        stamps = [stamp_of(path) for path in client.configuration_files(self._start, editor)]
        if editor == self._editor and stamps == self._stamps:
            return
        self._editor, self._stamps = editor, stamps
        try:
            self.settings = client.resolve_settings(self._start, editor)
        except (ConfigError, CatalogueError) as error:
            self._problem.update(str(error))
            return
        if self._problem.update(""):
            self._tell.note("the configuration can be used again")

    def _look_at_baseline(self) -> None:
        settings = self.settings
        path = settings.root / settings.baseline if settings is not None and settings.baseline else None
        file = path, stamp_of(path) if path is not None else None
        if file == self._baseline_file and (path is None or file[1] is not None):
            return
        if path != self._baseline_file[0]:
            self._baseline = None
        self._baseline_file = file
        problem = ""
        try:
            self._baseline = read(path) if path is not None else None
        except BaselineError as error:
            problem = str(error)
        self._baseline_problem.update(problem)
