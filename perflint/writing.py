"""Replaces files atomically: readers see the old bytes or the new ones, never a mixture, whatever happens."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path


def replace_file(path: Path, data: bytes) -> None:
    """Put ``data`` in the place of the file at ``path``, with the mode and, where permitted, the owner it had.

    A symbolic link stays a link: the file it leads to is replaced.

    Raises:
        OSError: the file is missing, is not writable, is no regular file, or its directory takes no new file;
            the file is then as it was, and no temporary file is left.
    """
    target = Path(os.path.realpath(path))
    status = _status(target)
    if not stat.S_ISREG(status.st_mode):
        raise OSError(f"{path} is not a regular file")
    if not os.access(target, os.W_OK):
        raise PermissionError(f"{path} is write-protected")
    temporary = _write_beside(target, data)
    try:
        _copy_owner(temporary, status)
        # After the owner, because changing the owner clears the set-user bit.
        temporary.chmod(stat.S_IMODE(status.st_mode))
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_new(path: Path, data: bytes, mode: int | None = None) -> None:
    """Write a file whole, whether there was one or not; readers never see a part of it.

    ``mode`` are its permissions (default: its owner alone may read and write it).

    Raises:
        OSError: its directory takes no file; no temporary file is left.
    """
    temporary = _write_beside(path, data)
    try:
        if mode is not None:
            temporary.chmod(mode)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_whole(path: Path, data: bytes) -> None:
    """Put ``data`` in the file at ``path``, whether there was one or not: all of it, or what was there stays.

    A new file has the mode that other programs give theirs, one that was there keeps its own, and a link stays a link.
    What is no file (a pipe, a terminal, ``/dev/stdout``) cannot be replaced, and gets the bytes as they come.

    Raises:
        OSError: the file or its directory cannot be written; no temporary file is left.
    """
    if _is_stream(path):
        path.write_bytes(data)
    elif path.exists():
        replace_file(path, data)
    else:
        write_new(Path(os.path.realpath(path)), data, mode=0o666 & ~_umask())


def _is_stream(path: Path) -> bool:
    # What a shell has sent to a file stands in /dev as that file, which the shell keeps open: it must not be replaced.
    return path.absolute().parts[1:2] == ("dev",) or (path.exists() and not path.is_file())


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _status(target: Path) -> os.stat_result:
    return target.stat()


def _write_beside(target: Path, data: bytes) -> Path:
    # Beside the target, because only a rename within one file system is atomic.
    handle, name = tempfile.mkstemp(prefix=".perflint-", suffix=".tmp", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return Path(name)


def _copy_owner(temporary: Path, status: os.stat_result) -> None:
    own = temporary.stat()
    if not hasattr(os, "chown") or (own.st_uid, own.st_gid) == (status.st_uid, status.st_gid):
        return
    try:
        os.chown(temporary, status.st_uid, status.st_gid)
    except OSError:
        # Only root may give a file away; the group alone may still be ours to set.
        with contextlib.suppress(OSError):
            os.chown(temporary, -1, status.st_gid)
