"""Writes files atomically: readers see the old bytes or the new ones, never a mixture, whatever happens.

The new bytes are written to a temporary file next to the old one, which is then renamed. There is one exception: a file
with several names (hard links) would lose the others that way, and one whose attributes cannot be copied to a new file
would lose these. Such a file is written in place (`overwrite`). Meanwhile, its old and new contents are in a ``.redo``
file next to it, so that `sweep` can finish a write that a kill has interrupted.

A temporary file is locked as long as its process lives; the system releases the lock when the process ends, however it
ends. Its name contains its own inode number (``.perflint-3f2a-k1x9w0_q.tmp``), which does not match in a file that was
copied, checked out or unpacked. So `sweep` can recognize it: a file with such a name, with that number and without a
lock was written by a perflint that is no longer running.
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

# --- temporary files

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
    with _opened(target, os.O_RDWR) as handle, temporary(target.parent) as note:
        before = _read_all(handle, None)
        note.write(_noted(target.name, os.fstat(handle).st_ino, before, data))
        note.rename(note.path.with_suffix(".redo"))
        try:
            _put(handle, data)
        except BaseException:
            note.stays = True  # until the old text is restored
            _put(handle, before)
            note.stays = False
            raise


_NO_LINKS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


@contextmanager
def _opened(path: Path, flags: int) -> Iterator[int]:
    """The handle of a file that is no link, which is closed at the end."""
    handle = os.open(path, flags | _NO_LINKS)
    try:
        yield handle
    finally:
        os.close(handle)


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
    with _opened(path, os.O_RDONLY) as handle:
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
        with _opened(target, os.O_RDWR) as opened:
            status = os.fstat(opened)
            if not stat.S_ISREG(status.st_mode) or status.st_ino != number:
                return []
            if not _is_between(_read_all(opened, _MOST_BYTES), rest[:first], rest[first:]):
                return []
            _put(opened, rest[first:])
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ELOOP, errno.EISDIR):  # only of opening it
            return []  # the file was replaced or removed
        raise
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


def replace_file(path: Path, data: bytes) -> None:
    """Replace the contents of the file at ``path`` by ``data``, keeping its mode, other names and extended attributes.

    Its owner is kept if permitted. A symbolic link stays a link: the file it leads to is replaced.

    Raises:
        OSError: the file is missing, is not writable, is not a regular file, or no new file can be created in its
            directory; the file is then unchanged, and no temporary file is left.
    """
    target = Path(os.path.realpath(path))
    status = _status(target)
    if not stat.S_ISREG(status.st_mode):
        raise OSError(f"{path} is not a regular file")
    if not os.access(target, os.W_OK):
        raise PermissionError(f"{path} is write-protected")
    if status.st_nlink > 1 or not _replaced(target, status, data):
        overwrite(target, data)


def _replaced(target: Path, status: os.stat_result, data: bytes) -> bool:
    """Replace ``target`` by a new file; False if that would lack attributes of the old one."""
    with temporary(target.parent) as new:
        new.write(data)
        _copy_owner(new, status)
        # After the owner, because changing the owner clears the set-user bit.
        new.path.chmod(stat.S_IMODE(status.st_mode))
        if not _copy_attributes(target, new):
            return False
        new.rename(target)
    return True


def write_new(path: Path, data: bytes, mode: int | None = None) -> None:
    """Write a file, new or existing, so that readers never see a part of it.

    ``mode`` are its permissions (default: only its owner may read and write it).

    Raises:
        OSError: no file can be created in its directory; no temporary file is left.
    """
    with temporary(path.parent) as new:
        new.write(data)
        if mode is not None:
            new.path.chmod(mode)
        new.rename(path)


def write_whole(path: Path, data: bytes) -> None:
    """Write ``data`` to the file at ``path``, new or existing: all of it, or the file stays unchanged.

    A new file gets the usual mode, an existing one keeps its own, and a link stays a link. Anything that is not a file
    (a pipe, a terminal, ``/dev/stdout``) cannot be replaced, and is written directly. What a killed process has left in
    the directory is removed.

    Raises:
        OSError: the file or its directory cannot be written; no temporary file is left.
    """
    if is_stream(path):
        path.write_bytes(data)
        return
    sweep(path.parent)
    if path.exists():
        replace_file(path, data)
    else:
        write_new(Path(os.path.realpath(path)), data, mode=0o666 & ~_umask())


def is_stream(path: Path) -> bool:
    """Whether writing to ``path`` leads somewhere other than to a file of that name."""
    # A file that the shell has redirected output to is in /dev as that file, which the shell keeps open: it must not be
    # replaced.
    return path.absolute().parts[1:2] == ("dev",) or (path.exists() and not path.is_file())


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _status(target: Path) -> os.stat_result:
    return target.stat()


def _copy_owner(new: Temporary, status: os.stat_result) -> None:
    own = new.path.stat()
    if not hasattr(os, "chown") or (own.st_uid, own.st_gid) == (status.st_uid, status.st_gid):
        return
    try:
        os.chown(new.path, status.st_uid, status.st_gid)
    except OSError:
        # Only root may change the owner; the group alone may still be possible.
        with contextlib.suppress(OSError):
            os.chown(new.path, -1, status.st_gid)


def _copy_attributes(target: Path, new: Temporary) -> bool:
    """Give a new file the extended attributes of another (such as access lists); return whether all were copied."""
    if not hasattr(os, "listxattr"):  # on macOS and Windows Python does not support them
        return True
    try:
        wanted = {name: os.getxattr(target, name) for name in os.listxattr(target)}
    except OSError:  # a file system without attributes
        return True
    try:
        there = {name: os.getxattr(new.path, name) for name in os.listxattr(new.path)}
        for name in there.keys() - wanted.keys():  # such as the access list that the directory gives new files
            os.removexattr(new.path, name)
        for name, value in wanted.items():
            if there.get(name) != value:
                os.setxattr(new.path, name, value)
    except OSError:
        return False
    return True
