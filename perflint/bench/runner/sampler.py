"""Samples which line of the project is running while no wrapped call is, to attribute that time to lines."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import Counter
from types import FrameType
from typing import TYPE_CHECKING, Any

from .watcher import line_of

if TYPE_CHECKING:
    from .profiler import Profiler, Spent

PERIOD = 0.02
"""Seconds between two samples. Each sample takes Python's lock from the training for a moment, so sampling every 5
ms makes steps longer if the machine has other work.
"""

_sleep = time.sleep  # taken before it is wrapped


class Sampler:
    """Counts how often a line was seen to run, by the line of the wrapped call before it, and by its own place.

    How long the code between two wrapped calls takes is known exactly. The counts only divide it among its lines:
    Python does not switch to this thread at arbitrary places, so samples alone would say little about time. Call
    ``start`` when the measured steps begin.
    """

    def __init__(self, profiler: Profiler, thread: int) -> None:
        """Sample the thread with this number."""
        self.counts: Counter[Any] = Counter()
        self._profiler = profiler
        self._thread = thread

    def start(self) -> None:
        """Sample from now on, until the process ends."""
        threading.Thread(target=self._run, daemon=True, name="perflint").start()

    def _run(self) -> None:
        while True:
            _sleep(PERIOD)
            after = self._profiler.between
            if after is not None:
                self._look(after, sys._current_frames().get(self._thread))

    def _look(self, after: Spent, frame: FrameType | None) -> None:
        root = self._profiler.root
        while frame is not None:
            if self._profiler.is_in_project(frame.f_code):
                name = frame.f_code.co_filename[len(root) :].replace(os.sep, "/")
                self.counts[after.path, after.line, name, line_of(frame)] += 1
                return
            frame = frame.f_back
