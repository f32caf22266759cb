"""Reads files whose names come from a stranger's repository, without ever blocking or reading forever.

A repository can hold a pipe, or a link to ``/dev/zero``, under the name of a ``.gitignore``, a configuration or a cache
entry. Opening a pipe blocks until something writes to it, and a device has no end.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

MOST_BYTES = 100_000_000
"""The largest file that perflint reads."""

_KINDS = (
    (stat.S_ISFIFO, "it is a pipe, not a file"),
    (stat.S_ISSOCK, "it is a socket, not a file"),
    (stat.S_ISCHR, "it is a device, not a file"),
    (stat.S_ISBLK, "it is a device, not a file"),
)
# So that this does not block on a pipe that has replaced the file, nor make a terminal perflint's own.
_FLAGS = sum(getattr(os, name, 0) for name in ("O_RDONLY", "O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC", "O_BINARY"))


def read(path: Path | str, most: int = MOST_BYTES) -> bytes:
    """Read the bytes of a file; links to files are followed.

    Args:
        path: the file.
        most: how many bytes it may have.

    Raises:
        OSError: it does not exist, it is a directory, a pipe, a device or a socket, or it is larger than ``most``
            bytes; ``error.strerror`` says which.
    """
    _insist_on_file(path, _status(path))  # a device is not even opened
    handle = os.open(path, _FLAGS)
    try:
        status = os.fstat(handle)
        _insist_on_file(path, status)
        if status.st_size <= most:
            data = _read(handle, status.st_size, most)
            if len(data) <= most:
                return data
    finally:
        os.close(handle)
    raise OSError(errno.EFBIG, f"it is larger than {most:,} bytes", str(path))


def problem(path: Path | str) -> str:
    """What a path leads to, in words, if that is a pipe, a device or a socket; empty for anything else."""
    try:
        return _problem(_status(path).st_mode)
    except OSError:
        return ""


def _status(path: Path | str) -> os.stat_result:
    try:
        return os.stat(path)  # noqa: PTH116 - called for each file of a run: no Path is made for it
    except ValueError as error:
        raise OSError(errno.EINVAL, "no file name can contain a null character", str(path)) from error


def _problem(mode: int) -> str:
    return next((words for is_kind, words in _KINDS if is_kind(mode)), "")


def _insist_on_file(path: Path | str, status: os.stat_result) -> None:
    if stat.S_ISREG(status.st_mode):
        return
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    raise OSError(errno.EINVAL, _problem(status.st_mode) or "it is not a file", str(path))


def _read(handle: int, expected: int, most: int) -> bytes:
    """All bytes, or one more than ``most``: files in ``/proc`` are larger than their status says."""
    parts: list[bytes] = []
    left = most + 1
    while left and (part := os.read(handle, min(left, max(expected + 1, 65_536)))):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)
