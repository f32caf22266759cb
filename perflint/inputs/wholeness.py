"""Decides whether a run reads a whole project: only then can nothing else lead to a finding."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from perflint.files.inside import outwards
from perflint.inputs.projects import is_project


def is_whole(paths: Sequence[Path], root: Path) -> bool:
    """Whether the directories among ``paths`` contain the whole projects that ``paths`` belong to.

    The outermost directory that looks like a project counts, since code there may call everything below it. The home
    directory and those above it contain projects but are not projects.

    Args:
        paths: the files and directories that are read.
        root: the directory of the configuration.
    """
    directories = {_real(path) for path in paths if _is_directory(path)}
    if not directories:
        return False
    # Hooks name hundreds of files, which are in few directories.
    places = directories | {_real(path.parent) for path in paths if not _is_directory(path)}
    tops = {project_top(place, root.resolve()) for place in places}
    return all(any(top.is_relative_to(directory) for directory in directories) for top in tops)


def _is_directory(path: Path) -> bool:
    return os.path.isdir(path)  # noqa: PTH112 - which does not raise where a name is too long


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def project_top(directory: Path, root: Path) -> Path:
    """The outermost project that contains a directory; the directory itself if there is none.

    Args:
        directory: its absolute path.
        root: the directory of the configuration, which is a project too; an absolute path.
    """
    projects = [place for place in outwards(directory) if place == root or is_project(str(place))]
    return projects[-1] if projects else directory
