"""Holds back requests to end (Ctrl-C, SIGTERM, SIGHUP) while something is begun or cleared away."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGALRM")  # the last: ``commands.ending`` repeats others with it


@contextmanager
def held() -> Iterator[None]:
    """Do what is inside to its end; what was asked for meanwhile happens afterwards.

    So a second Ctrl-C does not stop the removal of what the first one has left.  Threads get no signals, and are left
    alone, as are signals that raise nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    asked: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        asked.append(number)

    before: dict[int, Any] = {}
    try:
        for name in _NAMES:
            number = getattr(signal, name, None)
            if number is not None and callable(signal.getsignal(number)):
                before[number] = signal.getsignal(number)
                signal.signal(number, note)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if asked:
            before[asked[0]](asked[0], None)
