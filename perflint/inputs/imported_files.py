"""Finds the files of a project that some of its files import.

For ``train.py`` with ``from flowers.dataset import Flowers``, these are ``flowers/__init__.py`` and
``flowers/dataset.py``, and the files that those two import in turn.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from perflint.files import plain_files
from perflint.inputs.projects import imported_modules
from perflint.inputs.wholeness import project_top

_MOST = 1000
"""The most files to find: a check of one file should not take as long as one of a large repository."""


def imported_files(files: Iterable[Path], root: Path) -> list[Path]:
    """The files that some files import, and those that these import, in the order in which they were found.

    Modules are searched for next to the file that imports them, and in the directories above it, up to the top of its
    project. Installed packages are not read, and nothing is run.

    Args:
        files: the files, relative to the current directory.
        root: the directory of the configuration, which is a project too.
    """
    waiting = [*files]
    seen = {os.path.realpath(path) for path in waiting}
    found: list[Path] = []
    tops = {path: project_top(path.parent.absolute(), root.absolute()) for path in waiting}
    for path in waiting:  # grows during the loop
        for module in _modules(path, tops[path]):
            real = os.path.realpath(module)
            if real not in seen and len(found) < _MOST:
                seen.add(real)
                found.append(module)
                waiting.append(module)
                tops[module] = tops[path]
    return found


def importer_of(files: Iterable[Path], others: Iterable[Path], top: Path) -> Path | None:
    """The first of some other files that imports one of these files; None if there is none.

    Args:
        files: the files.
        others: the files that may import them.
        top: the absolute path of the directory that is searched for what they import.
    """
    wanted = {os.path.realpath(path): path for path in files}
    words = {(path.parent.absolute() if path.stem == "__init__" else path).stem for path in wanted.values()}
    for other in others:
        if os.path.realpath(other) not in wanted:
            for module in _modules(other, top, words):
                if os.path.realpath(module) in wanted:
                    return other
    return None


def _modules(path: Path, top: Path, words: Iterable[str] = ("import",)) -> Iterator[Path]:
    """The files of the modules that a file imports, if its text has one of these words."""
    try:
        text = plain_files.read(path).decode("utf-8", "replace")
    except OSError:
        return  # its errors are reported where it is checked
    if not any(word in text for word in words):
        return
    places = [*_upwards(path.parent, top)]
    for dots, name in imported_modules(text):
        steps = name.split(".") if name else []
        if dots:
            above = path.parent
            for _ in range(dots - 1):
                above = above.parent
            yield from _files(above, steps) if above.absolute().is_relative_to(top) else ()
        elif steps:
            yield from next(filter(None, ([*_files(place, steps)] for place in places)), [])


def _upwards(directory: Path, top: Path) -> Iterator[Path]:
    """A directory and those above it, up to the top, spelled like the first one."""
    here, above = directory, directory.absolute()
    while True:
        yield here
        if above == top or above == above.parent:
            return
        here = here.parent if here.name not in ("", "..") else here / ".."
        above = above.parent


def _files(place: Path, steps: list[str]) -> Iterator[Path]:
    """The files of a module below a directory, with those of the packages that contain it."""
    at = place
    for number, step in enumerate(steps):
        module = at / f"{step}.py"
        if module.is_file():
            yield module
            return
        at = at / step
        if not at.is_dir():
            return
        package = at / "__init__.py"
        if package.is_file():
            yield package
        elif number == len(steps) - 1:
            return
