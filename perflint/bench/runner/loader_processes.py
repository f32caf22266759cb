"""Ends the worker processes of a Paddle loader that a run has not read to its end.

Paddle tells them to end and then waits for as long as it takes. A worker that was forked while another thread held a
lock never ends: with it, the wait would not either.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

PATIENCE = 10.0
"""Seconds that the workers of a loader have to end before they are killed."""


def end(iterator: Any, seconds: float = PATIENCE) -> None:
    """End the workers of ``iter(loader)``; nothing is done for a loader without workers, or of another library.

    Args:
        iterator: what ``iter(loader)`` returned.
        seconds: how long to wait before the workers that are left are killed.
    """
    close = getattr(iterator, "_try_shutdown_all", None)
    if close is None:
        return
    killer = threading.Timer(seconds, _kill, [list(getattr(iterator, "_workers", None) or ())])
    killer.daemon = True
    killer.start()
    try:
        close()
    finally:
        killer.cancel()


def _kill(workers: Iterable[Any]) -> None:
    for worker in workers:
        worker.kill()  # which does nothing to a process that has ended
