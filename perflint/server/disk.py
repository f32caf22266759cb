"""The files of a folder on disk, and the files read to understand them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from perflint.commands import CommandError
from perflint.commands.reading import find
from perflint.commands.watch import Kept
from perflint.configuration.settings import Settings
from perflint.inputs.input_files import Inputs, read_inputs
from perflint.inputs.projects import is_whole
from perflint.run import discovery
from perflint.run.discovery import Found
from perflint.server.logs import Complaint, Tell
from perflint.text.source import Source

MOST_BYTES = 10_000_000
"""The largest total size of a folder's files that are checked together: their index stays in memory."""


class Disk:
    """Reads what ``perflint check FOLDER`` reads; unchanged files are not read again."""

    def __init__(self, root: str, tell: Tell) -> None:
        self.sources: dict[str, Source] = {}
        """The files by the paths that findings carry, in order."""
        self.is_too_big = False
        self.is_whole = False
        """Whether nothing outside of these files can lead to a finding in them."""
        self.inputs = Inputs()
        """Information from files of other kinds that belong to these."""
        self._root = root
        self._tell = tell
        self._reading = Kept()
        self._paths: frozenset[str] = frozenset()
        self._by_real_path: Mapping[str, str] = {}
        self._problem = Complaint(tell)

    def look(self, settings: Settings | None) -> None:
        """Find and read the files that exist now; none without settings."""
        is_there = settings is not None and Path(self._root).is_dir()
        found = self._found(settings) if settings is not None and is_there else Found([], [])
        self._by_real_path = found.by_real_path
        self._paths = frozenset(map(str, found.files))
        was_too_big, self.is_too_big = self.is_too_big, sum(map(_size, found.files)) > MOST_BYTES
        if self.is_too_big and not was_too_big:
            self._tell.note(
                f"{self._root} holds more than {MOST_BYTES // 1_000_000} MB of Python: open files are checked "
                "one by one, without the code that calls them; open a subfolder instead"
            )
        self.sources, unreadable = self._reading.read_all([] if self.is_too_big else found.files)
        places = [Path(self._root), *_context(settings)] if settings is not None else []
        self._enter(read_inputs(self.sources, settings.root) if settings is not None else Inputs())
        self.is_whole = not unreadable and settings is not None and is_whole(places, settings.root)

    def _enter(self, inputs: Inputs) -> None:
        for problem in inputs.problems:
            if problem not in self.inputs.problems:
                self._tell.note(problem)
        self.inputs = inputs

    def path_of(self, path: str) -> str | None:
        """The path that findings in this file carry; None for files outside this folder."""
        return path if path in self._paths else self._by_real_path.get(os.path.realpath(path))

    def _found(self, settings: Settings) -> Found:
        root = [Path(self._root)]
        try:
            found, _ = find(root, settings, context=_context(settings))
        except CommandError as error:
            self._problem.update(str(error))
            return discovery.python_files(root, settings)
        self._problem.update("")
        return found


def _context(settings: Settings) -> list[Path]:
    return [Path(os.path.normpath(settings.root / entry)) for entry in settings.context]


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
