"""What the requirements of a project say of Paddle: those of pip, setuptools, Poetry and conda next to its files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from perflint.files import plain_files
from perflint.files.inside import outwards
from perflint.inputs.paddle_versions import Admitted, oldest, stated

_MOST_BYTES = 1_000_000
_MARKS = frozenset({".git", "setup.py", "pyproject.toml", "setup.cfg"})
"""What stands in the top directory of a project."""

_FILE = re.compile(
    r"[\w.-]*requirements?[\w.-]*\.(?:txt|in)|setup\.(?:cfg|py)|pyproject\.toml|(?:environment|conda)[\w.-]*\.ya?ml",
    re.IGNORECASE,
)
_FOLDER = "requirements"
"""A directory next to the code whose ``*.txt`` files are requirements too."""


def on_disk(paths: Iterable[str], root: Path) -> Mapping[str, Admitted]:
    """The oldest Paddle that the requirements in each directory admit, by the directory's absolute path.

    Looked at are the directories of the files and those above them, up to the top of the project: the outermost one
    with a ``setup.py``, ``setup.cfg``, ``pyproject.toml`` or configuration of perflint, and never above a ``.git``.
    Where there is none of these, only the directories of the files count.  A file that cannot be read, is no plain
    file, or is larger than 1 MB says nothing.

    Args:
        paths: of the files that are checked.
        root: the directory of the configuration.

    Returns:
        Paths in it are as seen from the top of the project.
    """
    reader = _Reader(_normal(root))
    for directory in dict.fromkeys(Path(path).parent for path in paths):
        reader.climb(_normal(directory))
    return {str(directory): admitted for directory, admitted in sorted(reader.found.items())}


def nearest(path: str, requirements: Mapping[str, Admitted]) -> Admitted | None:
    """What ``on_disk`` says for one file: of its directory, or else of the nearest one above that says anything."""
    if not requirements:
        return None
    directory = _normal(Path(path).parent)
    known = (requirements.get(str(place)) for place in (directory, *directory.parents))
    return next((admitted for admitted in known if admitted is not None), None)


def _normal(directory: Path) -> Path:
    return Path(os.path.normpath(directory.absolute()))


class _Reader:
    """Reads each directory once; ``found`` has those whose requirements name a release of Paddle."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.found: dict[Path, Admitted] = {}
        self._names: dict[Path, frozenset[str]] = {}
        self._climbed: set[Path] = set()

    def climb(self, directory: Path) -> None:
        """Read a directory and those above it in the same project."""
        places = self._up_to_the_top(directory)
        for place in places:
            if place in self._climbed:
                return
            self._climbed.add(place)
            admitted = oldest(self._in(place, places[-1]))
            if admitted is not None:
                self.found[place] = admitted

    def _up_to_the_top(self, directory: Path) -> list[Path]:
        above: list[Path] = []
        top = 1
        for place in outwards(directory):
            above.append(place)
            names = self._names_in(place)
            if place == self._root or not names.isdisjoint(_MARKS):
                top = len(above)
            if ".git" in names:
                break
        return above[:top]

    def _names_in(self, directory: Path) -> frozenset[str]:
        if directory not in self._names:
            self._names[directory] = _listed(directory)
        return self._names[directory]

    def _in(self, directory: Path, top: Path) -> Iterator[Admitted]:
        names = self._names_in(directory)
        files = [directory / name for name in names if _FILE.fullmatch(name)]
        if _FOLDER in names:
            below = directory / _FOLDER
            files += [below / name for name in _listed(below) if name.endswith(".txt")]
        for file in files:
            for row, version, excluded in stated(file.name, _text(file)):
                yield Admitted(version, file.relative_to(top).as_posix(), row, excluded)


def _listed(directory: Path) -> frozenset[str]:
    try:
        return frozenset(entry.name for entry in directory.iterdir())
    except (OSError, ValueError):
        return frozenset()


def _text(path: Path) -> str:
    """What a file says; nothing where it is a pipe or a device, too large, or cannot be read."""
    try:
        return plain_files.read(path, _MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
