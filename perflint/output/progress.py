"""The progress bar: on a terminal, and only once a run takes long enough."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TextIO

from perflint.text.visible import counted

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
