"""Ends a command cleanly when it is asked to stop by Ctrl-C, SIGTERM or SIGHUP."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

TYPE_CHECKING = False
if TYPE_CHECKING:  # this class does not exist at run time
    from sys import UnraisableHookArgs

_SOON = 0.01
"""Seconds after which a lost stop request is repeated."""
_NAMES = ("SIGTERM", "SIGHUP")


class Terminated(KeyboardInterrupt):
    """The process was asked to end.

    CI systems send SIGTERM to cancelled jobs, and a closed terminal sends SIGHUP; ``number`` is the signal's number.
    """

    number = int(signal.SIGTERM)


class HungUp(Terminated):
    """The terminal was closed."""

    number = int(getattr(signal, "SIGHUP", signal.SIGTERM))


@contextmanager
def in_order() -> Iterator[None]:
    """Make these signals raise `Terminated`, as Ctrl-C raises ``KeyboardInterrupt``, and make sure that none is lost.

    Temporary files are removed and worker processes ended on the way out. An existing handler is kept (``nohup`` sets
    one for SIGHUP), and so are threads, which get no signals.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    numbers = [getattr(signal, name) for name in _NAMES if hasattr(signal, name)]
    numbers = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]
    for number in numbers:
        signal.signal(number, _stop)
    try:
        with _heard():
            yield
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)


def _stop(number: int, frame: FrameType | None) -> None:
    raise Terminated if number == signal.SIGTERM else HungUp


@contextmanager
def _heard() -> Iterator[None]:
    """Repeat a signal that arrived while Python ran a finalizer (``__del__``), since exceptions are dropped there."""
    if not hasattr(signal, "setitimer") or signal.getsignal(signal.SIGALRM) is not signal.SIG_DFL:
        yield
        return
    hook, lost = sys.unraisablehook, KeyboardInterrupt

    def note(args: UnraisableHookArgs) -> None:
        nonlocal lost
        if not issubclass(args.exc_type, KeyboardInterrupt):
            hook(args)
            return
        lost = args.exc_type
        signal.setitimer(signal.ITIMER_REAL, _SOON)

    def ask_again(number: int, frame: FrameType | None) -> None:
        if frame is not None and frame.f_code is note.__code__:  # the exception would be dropped there as well
            signal.setitimer(signal.ITIMER_REAL, _SOON)
            return
        raise lost

    signal.signal(signal.SIGALRM, ask_again)
    sys.unraisablehook = note
    try:
        yield
    finally:
        sys.unraisablehook = hook
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
