"""Opens a profile, and recognizes by the contents of the file, not by its name, what has written it."""

from __future__ import annotations

import re
from pathlib import Path

from perflint.files import plain_files
from perflint.ranking import chrome_trace, nsys_export, recorded_profile, training_log
from perflint.ranking.shares import Profiled, UnusableProfile

_HEAD = 1 << 20
_SQLITE = b"SQLite format 3\0"
_PACKED = (b"\x1f\x8b", b"PK\x03\x04", b"\x28\xb5\x2f\xfd")
_OWN = re.compile(rb'"format"\s*:\s*"%b"' % recorded_profile.FORMAT.encode())


def open_profile(path: Path, name: str = "") -> Profiled:
    """Read a profile.

    Args:
        path: the file.
        name: the name that the user gave (default: the path).

    Raises:
        UnusableProfile: it cannot be read, is not a profile, is damaged, or contains no steps.
    """
    name = name or str(path)
    try:
        if problem := plain_files.problem(path):
            raise UnusableProfile(f"it cannot be read: {problem}")
        return _read(path, name)
    except OSError as error:
        raise UnusableProfile(f"it cannot be read: {error.strerror or error}") from error
    except ValueError as error:  # the name contains a null character
        raise UnusableProfile(f"it cannot be read: {error}") from error


def _read(path: Path, name: str) -> Profiled:
    with path.open("rb") as file:
        head = file.read(_HEAD)
        if not head.strip():
            raise UnusableProfile("it is empty: profile again")
        if head.startswith(_SQLITE):
            return nsys_export.read(path, name)
        if head.startswith(_PACKED):
            raise UnusableProfile("it is compressed: decompress it first")
        if b"\0" in head:
            raise UnusableProfile(
                "it is not text: give what export_chrome_tracing of Paddle Profiler writes (not export_protobuf), and "
                "of Nsight Systems what nsys export --type sqlite makes"
            )
        text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
        if text.startswith(b"{") and _OWN.search(head):
            return recorded_profile.read(plain_files.read(path), name)
        file.seek(0)
        if text.startswith(b"{") and b'"%b"' % chrome_trace.LIST.encode() in head:
            return chrome_trace.read(file, name)
        return training_log.read(file, name)
