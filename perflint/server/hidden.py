"""The findings that a baseline lists, which the editor does not show either."""

from __future__ import annotations

from pathlib import Path

from perflint.commands.watch import Stamp, stamp_of
from perflint.configuration.settings import Settings
from perflint.findings import Finding
from perflint.server.logs import Tell
from perflint.suppress.baseline import Baseline, BaselineError, read
from perflint.text.source import Source


class Hidden:
    """The baseline that the settings name, as it is now.

    One that cannot be used is complained of once; until it is mended, the one before holds.
    """

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._path: Path | None = None
        self._stamp: Stamp | None = None
        self._problem = ""
        self._baseline: Baseline | None = None

    def look(self, settings: Settings | None) -> None:
        """See whether the baseline is still as it was."""
        path = settings.root / settings.baseline if settings is not None and settings.baseline else None
        stamp = stamp_of(path) if path is not None else None
        if path == self._path and stamp == self._stamp and (stamp is not None or path is None):
            return
        if path != self._path:
            self._baseline = None
        self._path, self._stamp = path, stamp
        problem = ""
        try:
            self._baseline = read(path) if path is not None else None
        except BaselineError as error:
            problem = str(error)
        if problem and problem != self._problem:
            self._tell.complain(f"perflint: {problem}")
        self._problem = problem

    def left(self, source: Source, findings: list[Finding]) -> list[Finding]:
        """The findings of one file that the baseline does not list."""
        if self._baseline is None or not findings:
            return findings
        return self._baseline.split(findings, {source.path: source}).new
