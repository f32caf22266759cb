"""Decides where a project ends, so that nothing outside it is written through a link."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path


def absolute(path: str | Path) -> str:
    """The absolute path of a file, without following links."""
    return os.path.abspath(path)  # noqa: PTH100 - which would follow them


def project_around(path: Path) -> Path:
    """The project that a file named ``path`` belongs to.

    If the file is below the current directory, that is the git repository around this, or else this directory itself;
    otherwise the repository around the file, or else its directory. Links are not followed.
    """
    file, here = Path(absolute(path)), Path.cwd()
    own = repository(here) or here
    return own if file.is_relative_to(own) else repository(file.parent) or file.parent


def repository(directory: Path) -> Path | None:
    """The top of the git repository around a directory."""
    return next((place for place in (directory, *directory.parents) if os.path.lexists(place / ".git")), None)


def outside(path: Path, project: Path) -> Path | None:
    """The file that ``path`` leads to if that is outside of ``project``; None if it is inside."""
    real = Path(os.path.realpath(path))
    return None if real.is_relative_to(os.path.realpath(project)) else real


def from_here(path: Path) -> Path:
    """A path relative to the current directory if it is below it; any other path unchanged."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def outwards(directory: Path) -> Iterator[Path]:
    """A directory and those above it, without the home directory and those above it: these contain many projects."""
    try:
        home = Path.home()
    except RuntimeError:  # the process has no home directory
        home = Path(directory.anchor)
    for place in (directory, *directory.parents):
        if home.is_relative_to(place):
            return
        yield place
