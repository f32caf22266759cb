"""Leaves out the findings in files that were read, but not checked, and says where they are.

``perflint check train.py`` reads ``engine.py``, which train.py imports. If the step loop is there, so are the findings.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from perflint.commands.low_impact import LowImpact
from perflint.commands.naming import Naming
from perflint.commands.run_settings import common_directory
from perflint.configuration.settings import Settings
from perflint.findings import Finding
from perflint.text.source import Source
from perflint.text.visible import counted, listed, visible_path

_SHOWN = 2
"""How many files are named."""


class OnlyNamed:
    """The findings of a run in the files that were named."""

    def __init__(self, naming: Naming, settings: Settings, is_told: bool = True) -> None:
        """``is_told``: ``closing`` names the others; a run that shows only new findings leaves them out silently."""
        self._naming = naming
        self._settings = settings
        self._is_told = is_told
        self._others: list[Finding] = []
        self._named: list[str] = []

    def left(self, findings: Sequence[Finding], sources: Mapping[str, Source]) -> list[Finding]:
        """The findings in the files that were named."""
        others = [finding for finding in findings if finding.path in self._naming.hidden]
        self._named = [path for path in sources if path not in self._naming.hidden]
        self._others = LowImpact(self._settings).left(others, sources)
        return self._naming.reported(findings)

    def closing(self) -> str:
        """Where the others are, and how to see them.

        Example: ``3 findings are in a file that was only read: engine.py (to see them: perflint check).``
        """
        paths = list(dict.fromkeys(finding.path for finding in self._others))
        if not paths or not self._is_told:
            return ""
        verb = "is" if len(self._others) == 1 else "are"
        where = "a file that was only read" if len(paths) == 1 else "files that were only read"
        names = listed([visible_path(path) for path in paths], _SHOWN)
        them = "it" if len(self._others) == 1 else "them"
        command = " ".join(["perflint check", *self._directory(paths)])
        return f"{counted(len(self._others), 'finding')} {verb} in {where}: {names} (to see {them}: {command})."

    def _directory(self, paths: Iterable[str]) -> list[str]:
        """The directory of these files and of those that were named, as an argument; empty if it is the current one."""
        common = common_directory([Path(path) for path in (*paths, *self._named)])
        here = Path.cwd()
        if common == here:
            return []
        return [shlex.quote(visible_path(str(common.relative_to(here) if common.is_relative_to(here) else common)))]

    def notes(self) -> list[str]:
        """Nothing."""
        return []
