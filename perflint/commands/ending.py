"""Ends a command in order when it is asked to stop, by Ctrl-C or by SIGTERM."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_SOON = 0.001
"""Seconds until a request that got lost is made again."""

TYPE_CHECKING = False
if TYPE_CHECKING:  # no such class is there when the program runs
    from sys import UnraisableHookArgs


class Terminated(KeyboardInterrupt):
    """The process was asked to end (SIGTERM), as CI systems do with jobs that nobody waits for any more."""


@contextmanager
def in_order() -> Iterator[None]:
    """Let SIGTERM raise `Terminated`, as Ctrl-C raises ``KeyboardInterrupt``, and see to it that neither gets lost.

    Temporary files are removed and worker processes ended on the way out.  Who has decided otherwise what a SIGTERM
    does, and threads, which get no signals, are left alone.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    hook = sys.unraisablehook

    def stop(number: int, frame: FrameType | None) -> None:
        raise Terminated

    def ask_again(lost: UnraisableHookArgs) -> None:
        """Python drops what is raised while it cleans up an object: then the request is made once more."""
        if not issubclass(lost.exc_type, KeyboardInterrupt):
            hook(lost)
            return
        number = signal.SIGTERM if issubclass(lost.exc_type, Terminated) else signal.SIGINT
        threading.Timer(_SOON, signal.raise_signal, [number]).start()

    signal.signal(signal.SIGTERM, stop)
    sys.unraisablehook = ask_again
    try:
        yield
    finally:
        sys.unraisablehook = hook
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
