"""The directory of one run of a script, which is removed after the run, or by the next ``perflint bench``.

A file in it is locked by this process and by those that it starts, so a directory whose lock is free was left by a
killed process.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from perflint.bench.interrupts import held
from perflint.files.writing import Lock, take_lock

_PREFIX = "perflint-bench-"
_NAME = re.compile(r"perflint-bench-[a-z0-9_]{8}")
_LOCK = "lock"
_OLD = 3600.0
"""Seconds after which an empty directory, which has no lock yet, counts as left behind."""


@contextmanager
def scratch() -> Iterator[tuple[Path, int]]:
    """A new directory, and the handle of its lock for processes that should hold it too.

    Raises:
        OSError: there is no space left.
    """
    made: tempfile.TemporaryDirectory[str] | None = None
    lock = -1
    try:
        with held():
            made = tempfile.TemporaryDirectory(prefix=_PREFIX, ignore_cleanup_errors=True)
            place = Path(made.name).resolve()
            lock = os.open(place / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
            take_lock(lock)
        yield place, lock
    finally:
        with held():
            if made is not None:
                made.cleanup()
            if lock >= 0:
                os.close(lock)


def sweep() -> None:
    """Remove the directories that killed processes of this user have left."""
    if os.name != "posix":  # on Windows, a file that another process has open cannot be removed
        return
    with contextlib.suppress(OSError), os.scandir(tempfile.gettempdir()) as scan:
        found = [entry for entry in scan if _NAME.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False)]
        for entry in found:
            with contextlib.suppress(OSError):
                _sweep(Path(entry.path), entry.stat(follow_symlinks=False))


def _sweep(place: Path, status: os.stat_result) -> None:
    if status.st_uid != os.geteuid():
        return
    if not (place / _LOCK).exists():
        if time.time() - status.st_mtime > _OLD:
            place.rmdir()  # this removes only an empty one
        return
    lock = os.open(place / _LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if stat.S_ISREG(os.fstat(lock).st_mode) and take_lock(lock) is Lock.OURS:
            shutil.rmtree(place, ignore_errors=True)
    finally:
        os.close(lock)
