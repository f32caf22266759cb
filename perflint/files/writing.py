"""Writes files whole: readers see the old bytes or the new ones, never a mixture, whatever happens.

The new bytes are written to a temporary file beside the old one, which then takes its name.  There is one exception: a
file with several names (hard links) would lose the others that way, and one whose attributes cannot be given to a new
file would lose these.  Such a file is written in place; should that be interrupted by a kill, the next run finishes it
(see ``leftovers``).
"""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

from perflint.files import leftovers
from perflint.files.leftovers import Temporary, temporary


def replace_file(path: Path, data: bytes) -> None:
    """Put ``data`` in place of the file at ``path``, which keeps its mode, other names and extended attributes.

    It keeps its owner where permitted.  A symbolic link stays a link: the file it leads to is replaced.

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
    if status.st_nlink > 1 or not _replaced(target, status, data):
        leftovers.overwrite(target, data)


def _replaced(target: Path, status: os.stat_result, data: bytes) -> bool:
    """Let a new file take the place of ``target``; False where it would lack attributes of the old one."""
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
    """Write a file whole, whether there was one or not; readers never see a part of it.

    ``mode`` are its permissions (default: its owner alone may read and write it).

    Raises:
        OSError: its directory takes no file; no temporary file is left.
    """
    with temporary(path.parent) as new:
        new.write(data)
        if mode is not None:
            new.path.chmod(mode)
        new.rename(path)


def write_whole(path: Path, data: bytes) -> None:
    """Put ``data`` in the file at ``path``, whether there was one or not: all of it, or what was there stays.

    A new file has the mode that other programs give theirs, one that was there keeps its own, and a link stays a link.
    What is no file (a pipe, a terminal, ``/dev/stdout``) cannot be replaced, and gets the bytes as they come.  What a
    killed process has left in the directory is removed.

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
    """Whether what is written to ``path`` goes somewhere else than into a file of that name."""
    # What a shell has sent to a file stands in /dev as that file, which the shell keeps open: it must not be replaced.
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
        # Only root may give a file away; the group alone may still be ours to set.
        with contextlib.suppress(OSError):
            os.chown(new.path, -1, status.st_gid)


def _copy_attributes(target: Path, new: Temporary) -> bool:
    """Give a new file the extended attributes of another (access lists and labels are such); whether it took all."""
    if not hasattr(os, "listxattr"):  # on macOS and Windows Python does not know them
        return True
    try:
        wanted = {name: os.getxattr(target, name) for name in os.listxattr(target)}
    except OSError:  # a file system without them
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
