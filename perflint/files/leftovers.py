"""Creates temporary files, and cleans up those left by a killed process.

A temporary file is next to the file that it will replace, and is locked as long as its process lives; the system
releases the lock when the process ends, however it ends. Its name contains its own inode number
(``.perflint-3f2a-k1x9w0_q.tmp``), which does not match in a file that was copied, checked out or unpacked. So `sweep`
can recognize it: a file with such a name, with that number and without a lock was written by a perflint that is no
longer running.

A file that cannot be replaced by a new one is written in place (`overwrite`). Meanwhile, its old and new contents are
in a ``.redo`` file next to it, so that `sweep` can finish a write that a kill has interrupted.
"""

from __future__ import annotations

import contextlib
import enum
import errno
import json
import os
import re
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

try:
    import fcntl
except ImportError:  # on Windows, a file that a process has open cannot be removed
    fcntl = None  # type: ignore[assignment]  # asked for before it is used

PREFIX = ".perflint-"
_NAME = re.compile(r"\.perflint-(?P<number>[0-9a-f]+)-[a-z0-9_]{8}\.(?P<kind>tmp|redo)")
_UNNUMBERED = re.compile(r"\.perflint-[a-z0-9_]{8}\.tmp")
"""The name of a new file, still empty, until its number is known."""
_MOST_BYTES = 64 * 2**20
"""The largest ``.redo`` file that is read."""


@dataclass
class Temporary:
    """A file that no other process removes; ``handle`` is open for writing, and holds the lock.

    ``stays``: it is not removed at the end, because the next `sweep` needs it.
    """

    path: Path
    handle: int
    stays: bool = False

    def write(self, data: bytes) -> None:
        """Write all of ``data``, and flush it to the disk.

        Raises:
            OSError: there is no space left.
        """
        _write_all(self.handle, data)
        os.fsync(self.handle)

    def rename(self, path: Path) -> None:
        """Rename it, replacing any file of that name."""
        self.path.replace(path)
        self.path = path


@contextmanager
def temporary(directory: Path) -> Iterator[Temporary]:
    """A new file in ``directory``; it is removed at the end, unless it was renamed.

    Raises:
        OSError: no file can be created in the directory.
    """
    made = _made(directory)
    try:
        yield made
    finally:
        if is_ours(made.path.name) and not made.stays:
            made.path.unlink(missing_ok=True)
        os.close(made.handle)


def is_ours(name: str) -> bool:
    """Whether a file may be a temporary file of perflint, judging by its name."""
    return name.startswith(PREFIX) and (_NAME.fullmatch(name) or _UNNUMBERED.fullmatch(name)) is not None


def sweep(directory: Path) -> list[Path]:
    """Remove what killed processes have left in a directory; return the files whose writing was finished.

    What cannot be removed stays, silently.
    """
    try:
        with os.scandir(directory) as scan:
            found = [Path(entry.path) for entry in scan if is_ours(entry.name)]
    except OSError:
        return []
    return sweep_files(found)


def sweep_files(paths: Iterable[Path]) -> list[Path]:
    """Remove the files among these that killed processes have left; return the files whose writing was finished."""
    finished = []
    for path in paths:
        with contextlib.suppress(OSError):
            finished += _swept(path)
    return finished


def overwrite(target: Path, data: bytes) -> None:
    """Write ``data`` into a file that keeps its number, and so its other names (hard links), owner and attributes.

    Other programs can see a part of it for a moment. After a kill in that moment, the next `sweep` finishes the write.

    Raises:
        OSError: there is no space left, or the file cannot be written; it is then unchanged.
    """
    handle = os.open(target, os.O_RDWR | _NO_LINKS)
    try:
        before = _read_all(handle, None)
        with temporary(target.parent) as note:
            note.write(_noted(target.name, os.fstat(handle).st_ino, before, data))
            note.rename(note.path.with_suffix(".redo"))
            try:
                _put(handle, data)
            except BaseException:
                note.stays = True  # until the old text is restored
                _put(handle, before)
                note.stays = False
                raise
    finally:
        os.close(handle)


_NO_LINKS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


def _made(directory: Path) -> Temporary:
    while True:
        handle, name = tempfile.mkstemp(prefix=PREFIX, suffix=".tmp", dir=directory)
        path = Path(name)
        try:
            if take_lock(handle) is Lock.THEIRS or os.fstat(handle).st_nlink == 0:
                os.close(handle)  # another process thought that the empty file was a leftover
                continue
            if os.name != "posix":  # on Windows, an open file keeps its name
                return Temporary(path, handle)
            numbered = path.with_name(f"{PREFIX}{os.fstat(handle).st_ino:x}-{path.stem[-8:]}.tmp")
            os.rename(path, numbered)  # noqa: PTH104 - the path stays what is to be removed if this fails
        except BaseException:
            path.unlink(missing_ok=True)
            os.close(handle)
            raise
        return Temporary(numbered, handle)


def _swept(path: Path) -> list[Path]:
    """Remove one file, if it is a leftover; return the file whose writing was finished with it."""
    handle = os.open(path, os.O_RDONLY | _NO_LINKS)
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or not _is_left(path.name, status):
            return []
        if take_lock(handle) is not Lock.OURS:
            return []
        named = os.lstat(path)
        if (named.st_dev, named.st_ino) != (status.st_dev, status.st_ino):
            return []
        finished = _finished(path, handle) if path.suffix == ".redo" else []
        path.unlink()
        return finished
    finally:
        os.close(handle)


def _is_left(name: str, status: os.stat_result) -> bool:
    match = _NAME.fullmatch(name)
    return int(match["number"], 16) == status.st_ino if match else status.st_size == 0


class Lock(enum.Enum):
    """Who has the lock of a file; nobody can have it if the file system has no locks."""

    OURS = enum.auto()
    THEIRS = enum.auto()
    NOBODYS = enum.auto()


def take_lock(handle: int) -> Lock:
    """Take the lock of a file, if it is free."""
    if fcntl is None:
        return Lock.OURS
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return Lock.THEIRS
    except OSError:
        return Lock.NOBODYS
    return Lock.OURS


# --- writing in place


def _noted(name: str, number: int, before: bytes, after: bytes) -> bytes:
    head = {"name": os.fsencode(name).hex(), "number": number, "before": len(before), "after": len(after)}
    return json.dumps(head).encode("ascii") + b"\n" + before + after


def _finished(path: Path, handle: int) -> list[Path]:
    """Finish the write of a ``.redo`` file, if it was started and nobody has changed the file since."""
    head, _, rest = _read_all(handle, _MOST_BYTES).partition(b"\n")
    try:
        known = json.loads(head)
        target = path.with_name(Path(os.fsdecode(bytes.fromhex(known["name"]))).name)
        number, first, second = (int(known[key]) for key in ("number", "before", "after"))
    except (ValueError, TypeError, KeyError, RecursionError):
        return []  # killed before it was complete
    if len(rest) != first + second:
        return []
    try:
        opened = os.open(target, os.O_RDWR | _NO_LINKS)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ELOOP, errno.EISDIR):
            return []  # the file was replaced or removed
        raise
    try:
        status = os.fstat(opened)
        if not stat.S_ISREG(status.st_mode) or status.st_ino != number:
            return []
        if not _is_between(_read_all(opened, _MOST_BYTES), rest[:first], rest[first:]):
            return []
        _put(opened, rest[first:])
    finally:
        os.close(opened)
    return [target]


def _is_between(now: bytes, before: bytes, after: bytes) -> bool:
    """Whether ``now`` is a mixture of both; the part by which a file has grown may still be zeros."""
    if now in (before, after) or not min(len(before), len(after)) <= len(now) <= max(len(before), len(after)):
        return False
    size = len(now)
    sides = zip(now, before.ljust(size, b"\0"), after.ljust(size, b"\0"), strict=False)
    return all(byte in (old, new, 0) for byte, old, new in sides)


def _put(handle: int, data: bytes) -> None:
    os.lseek(handle, 0, os.SEEK_SET)
    _write_all(handle, data)
    os.ftruncate(handle, len(data))
    os.fsync(handle)


def _write_all(handle: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(handle, left) :]


def _read_all(handle: int, most: int | None) -> bytes:
    with os.fdopen(os.dup(handle), "rb") as file:
        file.seek(0)
        return file.read(most if most is not None else -1)
