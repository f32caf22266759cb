"""The progress bar: on a terminal, and only once a run takes long enough."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TextIO

PATIENCE = 0.5
"""Seconds before the bar appears."""
_PAUSE = 0.1
_WIDTH = 30


class Progress:
    """Call it with (done, total) as files are checked; ``clear`` removes the bar."""

    def __init__(self, stream: TextIO, enabled: bool = True, clock: Callable[[], float] = time.monotonic) -> None:
        """``clock`` gives seconds; the bar is shown only if ``stream`` is a terminal."""
        self._stream = stream
        self._enabled = enabled and stream.isatty()
        self._clock = clock
        self._next = clock() + PATIENCE
        self._shown = False

    def __call__(self, done: int, total: int) -> None:
        """Draw the bar again, at most ten times a second."""
        if not self._enabled or self._clock() < self._next:
            return
        self._next = self._clock() + _PAUSE
        self._shown = True
        full = _WIDTH * done // max(1, total)
        self._stream.write(f"\r[{'#' * full}{'.' * (_WIDTH - full)}] {done}/{total} files")
        self._stream.flush()

    def clear(self) -> None:
        """Remove the bar, if it is shown."""
        if self._shown:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._shown = False
