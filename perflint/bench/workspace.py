"""A copy of a project to run in, so that the user's own files stay as they are.

Code and small files are copied, large files and directories of many files are links (``runner`` makes a file of a link
before it is written).  Each run gets a copy of its own: what one has saved, the next does not find.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

LARGE = 1 << 20
"""Bytes from which a file that is no code is linked."""
MANY = 500
"""Entries from which a directory without code is linked."""
_LEFT_OUT = frozenset((".git", ".hg", ".svn", "__pycache__", ".venv", "venv", "node_modules", ".tox"))
_CACHES = (".mypy_cache", ".ruff_cache", ".pytest_cache", ".ipynb_checkpoints")


def make(root: Path, target: Path, changed: Mapping[Path, bytes]) -> list[str]:
    """Copy a project; the paths, seen from ``root``, that are links.

    Args:
        root: the project.
        target: the directory of the copy, which is made.
        changed: by path seen from ``root``: files that get another content in the copy.

    Raises:
        OSError: something cannot be read, or there is no room for the copy.
    """
    linked: list[str] = []
    _directory(root, target, root, linked)
    for place, data in changed.items():
        (target / place).write_bytes(data)
    return linked


def _directory(source: Path, target: Path, root: Path, linked: list[str]) -> None:
    target.mkdir()
    with os.scandir(source) as scan:
        entries = sorted(scan, key=lambda entry: entry.name)
    for entry in entries:
        place, copy = Path(entry.path), target / entry.name
        if entry.name in _LEFT_OUT or entry.name in _CACHES:
            continue
        if entry.is_symlink() and not entry.name.endswith(".py"):
            copy.symlink_to(place.resolve())
            linked.append(str(place.relative_to(root)))
        elif entry.is_dir():
            if _is_data(place):
                copy.symlink_to(place)
                linked.append(str(place.relative_to(root)) + os.sep)
            else:
                _directory(place, copy, root, linked)
        elif entry.is_file() and not entry.name.endswith(".py") and entry.stat().st_size >= LARGE:
            copy.symlink_to(place)
            linked.append(str(place.relative_to(root)))
        elif entry.is_file():
            shutil.copyfile(place, copy)
            copy.chmod(place.stat().st_mode | 0o200)


def _is_data(directory: Path) -> bool:
    names = os.listdir(directory)  # noqa: PTH208  # names alone, of directories with very many
    return len(names) >= MANY and not any(name.endswith(".py") for name in names)
