"""The settings of a directory as they are now: looked up again when a file or the editor says something else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from perflint.catalogue import CatalogueError
from perflint.commands.watch import Stamp, stamp_of
from perflint.configuration import config_files
from perflint.configuration.settings import Settings
from perflint.inputs.input_kinds import read_inputs
from perflint.server import client_settings
from perflint.server.client_settings import EditorSettings
from perflint.server.hidden import Hidden
from perflint.server.logs import Tell


class Configured:
    """The settings for the code in one directory.

    What cannot be used is complained of once; until it is mended, the settings before hold.
    """

    def __init__(self, start: Path, tell: Tell) -> None:
        self._start = start
        self._tell = tell
        self._editor: EditorSettings | None = None
        self._stamps: list[Stamp | None] = []
        self._problem = ""
        self.hidden = Hidden(tell)
        self.settings: Settings | None = None
        """None where there have been none yet that can be used."""

    def look(self, editor: EditorSettings) -> None:
        """See whether the settings are still as they were, and the baseline that they name."""
        self._look(editor)
        if self.settings is not None:
            inputs = read_inputs([str(self._start / "any.py")], self.settings.root)
            self.settings = replace(self.settings, inputs=inputs)
        self.hidden.look(self.settings)

    def _look(self, editor: EditorSettings) -> None:
        stamps = [stamp_of(path) for path in client_settings.files(self._start, editor)]
        if editor == self._editor and stamps == self._stamps:
            return
        self._editor, self._stamps = editor, stamps
        try:
            self.settings = client_settings.resolve(self._start, editor)
        except (config_files.ConfigError, CatalogueError) as error:
            self._fail(str(error))
            return
        if self._problem:
            self._tell.note("the configuration can be used again")
        self._problem = ""

    def _fail(self, problem: str) -> None:
        if problem != self._problem:
            self._tell.complain(f"perflint: {problem}")
        self._problem = problem
