"""Whether a run reads a whole project: only then is it known that nothing else can lead to a finding."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from perflint.projects import is_project


def is_whole(paths: Sequence[Path], root: Path) -> bool:
    """Whether the directories among ``paths`` hold all of the projects that ``paths`` belong to.

    The outermost directory that looks like a project counts, since code there may call all that is below it.  The
    home directory and those above it hold projects and are none.

    Args:
        paths: the files and directories that are read.
        root: the directory of the configuration.
    """
    directories = [_real(path) for path in paths if path.is_dir()]
    return bool(directories) and all(
        any(_top(_real(path), root.resolve()).is_relative_to(directory) for directory in directories) for path in paths
    )


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _top(path: Path, root: Path) -> Path:
    """The outermost project that holds a path; the path itself where there is none."""
    projects = [place for place in _places(path) if place == root or is_project(str(place))]
    return projects[-1] if projects else path


def _places(path: Path) -> Iterator[Path]:
    """The directories that may be a project around a path, outwards."""
    try:
        home = Path.home()
    except RuntimeError:  # a process without a home
        home = Path(path.anchor)
    for place in (path, *path.parents):
        if home.is_relative_to(place):
            return
        yield place
