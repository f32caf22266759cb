"""Ends a command as Ctrl-C does when it is asked to stop in another way, so that it puts things in order first."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Terminated(KeyboardInterrupt):
    """The process was asked to end (SIGTERM), as CI systems do with jobs that nobody waits for any more."""


@contextmanager
def heeding_sigterm() -> Iterator[None]:
    """Raise `Terminated` at a SIGTERM, if nobody else has decided what it does.

    Temporary files are removed and worker processes ended on the way out.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    if signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)  # the next one ends it at once
        raise Terminated

    signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
