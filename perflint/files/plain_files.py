"""Reads files whose names come from a stranger's repository, without ever blocking or reading forever.

A repository can hold a pipe, or a link to ``/dev/zero``, under the name of a ``.gitignore``, a configuration or a cache
entry. Opening a pipe blocks until something writes to it, and a device has no end.

Nothing outside a project is written through a link, so this also says where a project ends.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
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


# --- where a project ends


def absolute(path: str | Path) -> str:
    """The absolute path of a file, without following links."""
    return os.path.abspath(path)  # noqa: PTH100 - which would follow them


def project_around(path: Path) -> Path:
    """The project that a file named ``path`` belongs to.

    If the file is below the current directory, that is the git repository around this, or else this directory itself;
    otherwise the repository around the file, or else its directory. Links are not followed.
    """
    file, here = Path(absolute(path)), Path.cwd()
    own = repository(here) or here
    return own if file.is_relative_to(own) else repository(file.parent) or file.parent


def repository(directory: Path) -> Path | None:
    """The top of the git repository around a directory."""
    return next((place for place in (directory, *directory.parents) if os.path.lexists(place / ".git")), None)


def outside(path: Path, project: Path) -> Path | None:
    """The file that ``path`` leads to if that is outside of ``project``; None if it is inside."""
    real = Path(os.path.realpath(path))
    return None if real.is_relative_to(os.path.realpath(project)) else real


def from_here(path: Path) -> Path:
    """A path relative to the current directory if it is below it; any other path unchanged."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def outwards(directory: Path) -> Iterator[Path]:
    """A directory and those above it, without the home directory and those above it: these contain many projects."""
    try:
        home = Path.home()
    except RuntimeError:  # the process has no home directory
        home = Path(directory.anchor)
    for place in (directory, *directory.parents):
        if home.is_relative_to(place):
            return
        yield place
