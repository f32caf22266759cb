"""Runs a command on a terminal of a given width, as a person does."""

from __future__ import annotations

import contextlib
import os
import re
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path

_PROGRESS = re.compile(r"\r\[[#.]+\] +\d+ % of \d+ files?|\r\x1b\[K")


def on_terminal(command: Sequence[str], folder: Path, columns: int) -> str:
    """What a command shows on a terminal without colours; POSIX only.

    Args:
        command: the program and its arguments.
        folder: where it starts.
        columns: how wide the terminal is.
    """
    import fcntl
    import pty
    import termios

    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 60, columns, 0, 0))
    environment = {**os.environ, "TERM": "xterm", "NO_COLOR": "1"}
    environment.pop("COLUMNS", None)  # which the workers of the tests have
    with subprocess.Popen(command, cwd=folder, env=environment, stdin=slave, stdout=slave, stderr=slave):
        os.close(slave)
        shown = read_all(master)
    os.close(master)
    text = shown.decode("utf-8").replace("\r\n", "\n")
    return _PROGRESS.sub("", text)  # a bar that only a slow machine shows


def read_all(master: int) -> bytes:
    """What a terminal shows until the last program has closed it."""
    shown = b""
    with contextlib.suppress(OSError):  # Linux says so where the other end is closed
        while part := os.read(master, 65536):
            shown += part
    return shown
