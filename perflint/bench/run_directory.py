"""The directory of one run of a script, with a copy of its project, so that the user's own files stay unchanged.

The directory is removed after the run, or by the next ``perflint bench``: a file in it is locked by this process and by
those that it starts, so a directory whose lock is free was left by a killed process.

Each run gets its own copy, so that no run finds files saved by another. If a project is too large to be copied each
time, its data are linked (`runner.running.guard` replaces a link by a file before it is written).
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import stat
import tempfile
import threading
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any

from perflint.files.writing import Lock, take_lock

# SIGALRM must be the last one, because ``commands.ending`` repeats the others with it
_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGALRM")
"""Requests to stop."""
_PREFIX = "perflint-bench-"
_NAME = re.compile(r"perflint-bench-[a-z0-9_]{8}")
_LOCK = "lock"
_OLD = 3600.0
"""Seconds after which an empty directory, which has no lock yet, counts as left behind."""
BUDGET = 256 << 20
"""The largest size in bytes of a project that is copied completely."""
SMALL = 4 << 10
"""Smaller files, in bytes, are always copied."""
MANY = 2000
"""A directory without code and with at least this many entries is linked as a whole."""
_LEFT_OUT = frozenset((".git", ".hg", ".svn", "__pycache__", ".venv", "venv", "node_modules", ".tox"))
_CACHES = frozenset((".mypy_cache", ".ruff_cache", ".pytest_cache", ".ipynb_checkpoints"))


@contextmanager
def held() -> Iterator[None]:
    """Finish the enclosed block; requests to stop that arrive meanwhile take effect afterwards.

    So a second Ctrl-C does not interrupt the cleanup after the first one. Nothing changes in threads, which get no
    signals, or for signals whose handlers raise nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    asked: list[int] = []
    handlers: dict[int, Any] = {
        number: signal.getsignal(number) for name in _SIGNALS if (number := getattr(signal, name, None)) is not None
    }
    before = {number: handler for number, handler in handlers.items() if callable(handler)}
    try:
        for number in before:
            signal.signal(number, lambda number, _: asked.append(number))
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if asked:
            before[asked[0]](asked[0], None)


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


@dataclass
class ProjectCopy:
    """Makes copies of a project.

    ``linked`` has the paths, relative to ``root``, that are links in the last copy; a directory ends with a slash.
    """

    root: Path
    linked: list[str] = field(default_factory=list)
    _target: Path = Path()
    _whole: bool | None = None
    _marks: dict[str, tuple[int, int]] = field(default_factory=dict)

    def make(self, target: Path, changed: Mapping[Path, bytes], removed: Collection[Path] = ()) -> None:
        """Make a copy.

        Args:
            target: its directory, which must not exist.
            changed: files that get another content in the copy, or that exist only there, by path relative to ``root``.
            removed: files, relative to ``root``, that the copy does not get.

        Raises:
            OSError: something cannot be read, or there is no room for the copy.
        """
        if self._whole is None:
            self._whole = all(total <= BUDGET for total in accumulate(_sizes(self.root)))  # counts no further
        self.linked = []
        self._target = target
        self._directory(self.root, target)
        for place in removed:
            _own(target, place)
            (target / place).unlink(missing_ok=True)
        for place, data in changed.items():
            _own(target, place)
            _write(target / place, data)
        self._marks = {place: _mark(self.root / place) for place in self.linked if not place.endswith(os.sep)}

    def written(self) -> list[str]:
        """The linked files that have changed since the last copy was made: something wrote through a link."""
        return [place for place, mark in self._marks.items() if _mark(self.root / place) != mark]

    def _directory(self, source: Path, target: Path) -> None:
        target.mkdir()
        for entry in _entries(source):
            place, copy = Path(entry.path), target / entry.name
            if entry.is_symlink() and not entry.name.endswith(".py"):
                self._link(place, copy)
            elif entry.is_dir():
                if not self._whole and _is_data(place):
                    self._link(place, copy)
                else:
                    self._directory(place, copy)
            elif entry.is_file():
                self._file(entry, copy)

    def _file(self, entry: os.DirEntry[str], copy: Path) -> None:
        if self._whole or entry.name.endswith(".py") or entry.stat().st_size < SMALL:
            shutil.copyfile(entry.path, copy)
            copy.chmod(entry.stat().st_mode | 0o200)
        else:
            self._link(Path(entry.path), copy)

    def _link(self, place: Path, copy: Path) -> None:
        real = place.resolve()
        if place.is_symlink() and real.is_relative_to(self.root):
            # it is in the copy, with its fixes if it is code
            copy.symlink_to(self._target / real.relative_to(self.root))
            return
        copy.symlink_to(real)
        self.linked.append(str(place.relative_to(self.root)) + (os.sep if real.is_dir() else ""))


def _own(target: Path, place: Path) -> None:
    """Replace linked directories on a path by real ones, so that no link leads writes into the original."""
    for parent in [*place.parents][-2::-1]:  # from the top downwards, without the copy itself
        directory = target / parent
        if directory.is_symlink():
            original = directory.resolve()
            directory.unlink()
            directory.mkdir()
            for entry in os.scandir(original):
                (directory / entry.name).symlink_to(entry.path)
        elif not directory.is_dir():
            directory.unlink(missing_ok=True)  # a file where the other state has a directory
            directory.mkdir()


def _write(path: Path, data: bytes) -> None:
    if path.is_symlink():
        path.unlink()  # the linked file stays unchanged
    elif path.is_dir():
        shutil.rmtree(path)  # a directory where the other state has a file
    path.write_bytes(data)


def _entries(directory: Path) -> list[os.DirEntry[str]]:
    with os.scandir(directory) as scan:
        entries = (entry for entry in scan if entry.name not in _LEFT_OUT | _CACHES)
        return sorted(entries, key=lambda entry: entry.name)


def _sizes(directory: Path) -> Iterator[int]:
    """What each file costs to copy, in bytes: small ones cost as much as a block."""
    for entry in _entries(directory):
        if entry.is_symlink():
            continue
        if entry.is_dir():
            yield from _sizes(Path(entry.path))
        elif entry.is_file():
            yield max(entry.stat().st_size, SMALL)


def _is_data(directory: Path) -> bool:
    names = os.listdir(directory)  # noqa: PTH208  # names alone, of directories with very many
    return len(names) >= MANY and not any(name.endswith(".py") for name in names)


def _mark(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError:  # a dangling link, or a file deleted meanwhile
        return 0, 0
    return found.st_size, found.st_mtime_ns
