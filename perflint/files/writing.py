"""Writes files atomically: readers see the old bytes or the new ones, never a mixture, whatever happens.

The new bytes are written to a temporary file next to the old one, which is then renamed. There is one exception: a file
with several names (hard links) would lose the others that way, and one whose attributes cannot be copied to a new file
would lose these. Such a file is written in place; if a kill interrupts that, the next run finishes it (see
``leftovers``).
"""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

from perflint.files import leftovers
from perflint.files.leftovers import Temporary, temporary


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
        leftovers.overwrite(target, data)


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
    leftovers.sweep(path.parent)
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
