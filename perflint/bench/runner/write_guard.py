"""Prevents a script that runs in a copy of a project from writing to the original files."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any


def guard(copy: str, original: str) -> None:
    """From now on refuse to open a file of the original for writing, in this process and those it forks.

    A file that is a link in the copy is replaced by a real file before it is written. Other writes into the original,
    by its absolute path or through a linked directory, are refused. Libraries that open files without Python are not
    covered; ``perflint.bench.project_copy`` checks the linked files afterwards.

    Args:
        copy: the real path of the copy.
        original: the real path of the project.
    """

    def look(event: str, arguments: Any) -> None:
        if event != "open" or not isinstance(arguments[0], (str, bytes, os.PathLike)):
            return
        flags = arguments[2] if isinstance(arguments[2], int) else 0
        if not flags & (os.O_WRONLY | os.O_RDWR):
            return
        path = os.fsdecode(arguments[0])
        real = os.path.realpath(path)
        if not _inside(real, original) or _inside(real, copy):
            return
        if Path(path).is_symlink() and _inside(os.path.realpath(Path(path).parent), copy):
            Path(path).unlink()
            if not flags & os.O_TRUNC:
                shutil.copyfile(real, path)
            return
        raise PermissionError(
            f"perflint does not let the script change {real}: write to a path relative to the working directory"
        )

    sys.addaudithook(look)


def _inside(path: str, root: str) -> bool:
    return path == root or path.startswith(root + os.sep)
