"""Keeps imports that an edit leaves unused if a file outside of those that are checked together may take them.

``perflint check --fix steps.py`` reads ``steps.py`` and what it imports, but ``from steps import np`` may be in another
file, which can also be one that git ignores, or that is found only when the program runs.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from perflint.configuration.settings import Settings
from perflint.files.inside import from_here, project_around
from perflint.findings import Finding
from perflint.fix.unused_imports import imports_in, spelling_of
from perflint.flow.resolving import opened
from perflint.index.imported_names import is_taken
from perflint.index.project import Project
from perflint.inputs.wholeness import project_top
from perflint.syntax.names import imported_name
from perflint.text.source import Source, UnreadableSource, read

_MOST = 20_000
"""The most files and directories to look at."""
_PASSED_OVER = frozenset({"__pycache__", "node_modules", "site-packages"})
_DYNAMIC = ("import_module", "__import__")

Around = dict[Path, dict[str, Path] | None]
"""The Python files below a directory, by their real paths, as far as it was searched; None if it has too much in it."""


class Unread:
    """The files around those of a project that are not checked together with them.

    Args:
        sources: the files of the project by path.
        settings: the settings of the run.
        around: what was found before.
    """

    def __init__(self, sources: Mapping[str, Source], settings: Settings, around: Around | None = None) -> None:
        self._sources = sources
        self._settings = settings
        self._around = {} if around is None else around
        self._names: dict[tuple[str, str], bool] = {}

    def spared(self, finding: Finding) -> Finding:
        """A finding whose fix no longer removes what such a file may take."""
        fix = finding.fix
        if fix is None or not fix.unneeded:
            return finding
        left = tuple(name for name in fix.unneeded if not self._is_taken(finding.path, name))
        return finding if left == fix.unneeded else replace(finding, fix=replace(fix, unneeded=left))

    def _is_taken(self, path: str, name: str) -> bool:
        if (path, name) not in self._names:
            self._names[path, name] = self._may_be_taken(path, name)
        return self._names[path, name]

    def _may_be_taken(self, path: str, name: str) -> bool:
        """Whether a file around a file may take one of its imports, which is named as by pyflakes."""
        if not os.path.isfile(path):  # noqa: PTH113 - which does not raise where a name is too long
            return False  # nothing imports a text
        around = self._files_around(_top(Path(path), self._settings))
        if around is None:
            return not self._settings.whole_project
        words = (Path(path).stem, *_DYNAMIC)
        others = {str(other): source for other in around if (source := _mentioning(other, words)) is not None}
        if not others:
            return False
        project: Project = opened({**self._sources, **others}, self._settings)
        file = project.files[path]
        nodes = imports_in(file.tree)
        bound = {spelling_of(node, alias): imported_name(alias) for node in nodes for alias in node.names}
        return is_taken(file, bound.get(name, name))

    def _files_around(self, top: Path) -> list[Path] | None:
        """The Python files below a directory that are not in the project; None if it has too much in it to look."""
        if top not in self._around:
            self._around[top] = _python_files(top)
        found = self._around[top]
        return [path for real, path in found.items() if real not in self._known] if found is not None else None

    @cached_property
    def _known(self) -> frozenset[str]:
        """The real paths of the files of the project."""
        return frozenset(map(os.path.realpath, self._sources))


def _top(path: Path, settings: Settings) -> Path:
    """The directory below which files may take names from a file."""
    top, around = project_top(path.parent.absolute(), settings.root.absolute()), project_around(path)
    return around if top.is_relative_to(around) else top


def _python_files(top: Path) -> dict[str, Path] | None:
    """The Python files below a directory, without hidden ones and installed packages; None if it has too much in it."""
    left = _MOST
    found: dict[str, Path] = {}
    for place, directories, files in os.walk(top):
        left -= len(directories) + len(files)
        if left < 0:
            return None
        paths = [Path(place, name) for name in files if name.endswith(".py")]
        found |= {os.path.realpath(path): from_here(path) for path in paths}
        directories[:] = [
            name
            for name in directories
            if not name.startswith(".") and name not in _PASSED_OVER and not Path(place, name, "pyvenv.cfg").exists()
        ]
    return found


def _mentioning(path: Path, words: tuple[str, ...]) -> Source | None:
    """The source of a file that contains one of some words."""
    try:
        source = read(path)
    except UnreadableSource:
        return None
    return source if any(word in source.text for word in words) else None
