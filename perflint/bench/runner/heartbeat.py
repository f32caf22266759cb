"""How far a training is, told to ``perflint bench`` through a small file that both have in memory.

The training writes a few numbers there, which costs a microsecond and no system call; ``perflint bench`` looks at them
now and then, and so notices when nothing happens any more.
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
"""What makes the process write its stack: on Linux the last real-time signal, which nobody else uses."""


class Beat(NamedTuple):
    """What a training process has told so far.

    Attributes:
        pid: its number; 0 before it has told anything.
        thread: its main thread, as stacks name it.
        batches: batches that were read.
        backward: calls of ``backward``.
        steps: optimizer steps.
        longest: seconds from the end of one step to the end of the next, the most so far.
        stack_signal: the signal that makes it write its stack; 0: there is none.
    """

    pid: int = 0
    thread: int = 0
    batches: int = 0
    backward: int = 0
    steps: int = 0
    longest: float = 0.0
    stack_signal: int = 0


def read(path: Path) -> Beat:
    """What a process has told in its file."""
    data = path.read_bytes()
    return Beat(*_NUMBERS.unpack(data[: _NUMBERS.size])) if len(data) >= _NUMBERS.size else Beat()


def stack_file(beat_file: Path) -> Path:
    """The file that gets the stacks of the process with this beat."""
    return beat_file.with_suffix(".stack")


class Heartbeat:
    """The side of the training.  Processes that it forks share the file, and leave it alone."""

    def __init__(self, path: Path) -> None:
        """Begin to tell in a file, which is made."""
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
        """Tell how often each has happened."""
        if os.getpid() != self._pid:
            return
        if steps != self._steps:
            now = time.monotonic()
            if self._steps:  # before the first there is much that is no step
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
