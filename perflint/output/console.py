"""Writes text and bytes to standard output and standard error, and shows a progress bar.

It stays quiet when the reader of a pipe has gone.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterable
from typing import TextIO

from perflint.text.visible import counted, visible, visible_line


class Console:
    """Writes to the process's streams.

    When standard output is a pipe whose reader has gone (``| head``), the rest is dropped silently: the work is still
    done, and the exit status stays correct.
    """

    def __init__(self) -> None:
        """Make the streams accept any text: a path may contain bytes that no encoding has."""
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")

    def write(self, text: str) -> None:
        """Write text to standard output."""
        try:
            sys.stdout.write(text)
        except BrokenPipeError:
            _hang_up()

    def write_bytes(self, data: bytes) -> None:
        """Write bytes to standard output, unchanged."""
        try:
            sys.stdout.flush()
            sys.stdout.buffer.write(data)
        except BrokenPipeError:
            _hang_up()

    def write_aside(self, text: str) -> None:
        """Write text to standard error."""
        with contextlib.suppress(BrokenPipeError):
            sys.stderr.write(text)

    def note(self, line: str) -> None:
        """Write one line to standard error, with control characters escaped."""
        self.write_aside(visible_line(line) + "\n")

    def close(self) -> None:
        """Flush; to be called before the process ends."""
        try:
            sys.stdout.flush()
        except BrokenPipeError:
            _hang_up()


def complain(text: str, more: Iterable[str] = ()) -> None:
    """Print an error to standard error, with control characters escaped: one line, and below it those of ``more``."""
    lines = [f"perflint: {visible(text)}", *(visible_line(line, keep="\t") for line in more)]
    with contextlib.suppress(BrokenPipeError):
        print(*lines, sep="\n", file=sys.stderr)


def terminal_width(stream: TextIO) -> int | None:
    """The width of the terminal that a stream writes to; None if it is a file or a pipe."""
    return shutil.get_terminal_size().columns if stream.isatty() else None


def _hang_up() -> None:
    # What is still buffered must go somewhere, or the interpreter complains when it flushes at exit.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


PATIENCE = 0.5
"""Seconds before the bar appears."""
_PAUSE = 0.1
_WIDTH = 30


class Progress:
    """Call it with (done, total) as work is done; ``clear`` removes the bar."""

    def __init__(
        self,
        stream: TextIO,
        files: int,
        enabled: bool = True,
        since: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """The bar is shown only if ``stream`` is a terminal.

        Args:
            stream: where it is shown.
            files: how many files the work is about.
            enabled: whether it is wanted.
            since: when the user began to wait (default: now).
            clock: gives seconds.
        """
        self._stream = stream
        self._enabled = enabled and stream.isatty()
        self._clock = clock
        self._files = counted(files, "file")
        self._next = (clock() if since is None else since) + PATIENCE
        self._shown = False

    def __call__(self, done: int, total: int) -> None:
        """Draw the bar again, at most ten times a second."""
        if not self._enabled or self._clock() < self._next:
            return
        self._next = self._clock() + _PAUSE
        self._shown = True
        full = _WIDTH * done // max(1, total)
        percent = 100 * done // max(1, total)
        self._stream.write(f"\r[{'#' * full}{'.' * (_WIDTH - full)}] {percent:3} % of {self._files}")
        self._stream.flush()

    def clear(self) -> None:
        """Remove the bar, if it is shown."""
        if self._shown:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._shown = False
