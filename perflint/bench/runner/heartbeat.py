"""Reports the progress of a training to ``perflint bench`` through a small memory-mapped file.

The training writes a few numbers there, which costs a microsecond and no system call; ``perflint bench`` reads them
regularly, and so notices when nothing happens any more.
"""

from __future__ import annotations

import contextlib
import faulthandler
import mmap
import os
import signal
import struct
import threading
import time
from pathlib import Path
from typing import NamedTuple

_NUMBERS = struct.Struct("<qQqqqdq")
_STACK_SIGNAL = getattr(signal, "SIGRTMAX", None) or getattr(signal, "SIGUSR2", None)
"""The signal that makes the process write its stack: on Linux the last real-time signal, which nothing else uses."""


class Beat(NamedTuple):
    """The progress that a training process has reported so far.

    Attributes:
        pid: its process id; 0 before it has reported anything.
        thread: its main thread, as it is named in stacks.
        batches: batches that were read.
        backward: calls of ``backward``.
        steps: optimizer steps.
        longest: the longest time so far, in seconds, from the end of one step to the end of the next.
        stack_signal: the signal that makes it write its stack; 0: none.
    """

    pid: int = 0
    thread: int = 0
    batches: int = 0
    backward: int = 0
    steps: int = 0
    longest: float = 0.0
    stack_signal: int = 0


def read(path: Path) -> Beat:
    """Read the progress that a process has reported in its file."""
    data = path.read_bytes()
    return Beat(*_NUMBERS.unpack(data[: _NUMBERS.size])) if len(data) >= _NUMBERS.size else Beat()


def stack_file(beat_file: Path) -> Path:
    """The file to which the process with this beat writes its stacks."""
    return beat_file.with_suffix(".stack")


class Heartbeat:
    """The side of the training, which writes. Forked processes inherit the file, but do not write to it."""

    def __init__(self, path: Path) -> None:
        """Create the file, and start reporting in it."""
        path.write_bytes(bytes(_NUMBERS.size))
        with path.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), _NUMBERS.size)
        self._stack = stack_file(path).open("wb")
        self._pid = os.getpid()
        self._thread = threading.main_thread().ident or 0
        self._signal = 0
        self._steps = 0
        self._longest = 0.0
        self._last = time.monotonic()
        self._listen()
        self.note(0, 0, 0)

    def note(self, batches: int, backward: int, steps: int) -> None:
        """Report how often each has happened."""
        if os.getpid() != self._pid:
            return
        if steps != self._steps:
            now = time.monotonic()
            if self._steps:  # before the first step, much time is spent on other work
                self._longest = max(self._longest, now - self._last)
            self._last, self._steps = now, steps
        _NUMBERS.pack_into(
            self._memory, 0, self._pid, self._thread, batches, backward, steps, self._longest, self._signal
        )

    def _listen(self) -> None:
        """Write all stacks when `Beat.stack_signal` comes, even while the interpreter cannot run Python."""
        if _STACK_SIGNAL is None or not hasattr(faulthandler, "register"):
            return  # on Windows
        with contextlib.suppress(OSError, RuntimeError, ValueError):
            faulthandler.register(_STACK_SIGNAL, file=self._stack, all_threads=True)
            self._signal = int(_STACK_SIGNAL)
