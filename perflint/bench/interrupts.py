"""Delays requests to stop (Ctrl-C, SIGTERM, SIGHUP) while something is started or cleaned up."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

# must be the last one, because ``commands.signals`` repeats the others with it
_NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGALRM")


@contextmanager
def held() -> Iterator[None]:
    """Finish the enclosed block; requests to stop that arrive meanwhile take effect afterwards.

    So a second Ctrl-C does not interrupt the cleanup after the first one. Nothing changes in threads, which get no
    signals, or for signals whose handlers raise nothing.
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
