"""The settings of a directory, with the baseline and the profile that they name, read again when they change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Generic, TypeVar

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
from perflint.suppress.baseline import BaselineError, read
from perflint.text.source import Source

Content = TypeVar("Content")


class NamedFile(Generic[Content]):
    """A file that the settings name, which is read again when it changes.

    The user is told once if it cannot be used.
    """

    def __init__(self, tell: Tell, read: Callable[[Path], Content | None]) -> None:
        self.content: Content | None = None
        self._problem = Complaint(tell)
        self._read = read
        self._file: tuple[Path | None, Stamp | None] = None, None

    def look(self, path: Path | None) -> None:
        """Read the file again if it has changed; None means that the settings name none."""
        file = path, stamp_of(path) if path is not None else None
        if file == self._file:
            return
        if path != self._file[0]:
            self.content = None
        self._file, problem = file, ""
        try:
            self.content = self._read(path) if path is not None else None
        except (BaselineError, UnusableProfile) as error:
            problem = str(error)
        self._problem.update(problem)


class ProfileGains(NamedFile[Profiled]):
    """What the findings can save by a profile, which need not exist."""

    def __init__(self, tell: Tell) -> None:
        super().__init__(tell, self._opened)

    def _opened(self, path: Path) -> Profiled | None:
        self.content = None
        try:
            return open_profile(path) if path.exists() else None
        except UnusableProfile as error:
            raise UnusableProfile(f"{path} cannot be used as a profile: {error}") from error

    def told(self, source: Source, findings: list[Finding]) -> list[Finding]:
        """Findings of one file, each with what it can save after its message."""
        if self.content is None or not findings:
            return findings
        ranking = rank([self.content], findings, {source.path: source}, catalogue.shipped())
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
        self._baseline = NamedFile(tell, read)
        self._gains = ProfileGains(tell)
        self.settings: Settings | None = None
        """None until there are settings that can be used."""

    def look(self, editor: EditorSettings) -> None:
        """Check whether the settings, or the baseline that they name, have changed."""
        self._look_at_configuration(editor)
        if self.settings is not None:
            inputs = read_inputs([str(self._start / "any.py")], self.settings.root)
            self.settings = replace(self.settings, inputs=inputs)
        settings = self.settings
        self._baseline.look(settings.root / settings.baseline if settings is not None and settings.baseline else None)
        self._gains.look(settings.root / settings.profile if settings is not None and settings.profile else None)

    def left(self, source: Source, findings: list[Finding]) -> list[Finding]:
        """The findings of one file that the baseline does not list."""
        if self._baseline.content is None or not findings:
            return findings
        return self._baseline.content.split(findings, {source.path: source}).new

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
