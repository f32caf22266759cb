"""The commands of ``perflint``, imported only when they are used, and what ends any of them.

These are the errors that all of them raise; and Ctrl-C, SIGTERM and SIGHUP, which end a command in order.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import contextmanager

from perflint import REPORT_TO
from perflint.text.visible import visible

TYPE_CHECKING = False
if TYPE_CHECKING:  # the command line imports this at every start
    from collections.abc import Iterator, Mapping, Sequence
    from sys import UnraisableHookArgs  # which does not exist at run time
    from types import FrameType

    from perflint.configuration.settings import Settings
    from perflint.text.source import Source


class CommandError(Exception):
    """A command cannot do its work; ``str(error)`` says what is wrong and what to do (exit status 2).

    ``more`` are lines to be shown below, such as commands to copy, or what a script has said.
    """

    def __init__(self, text: str, more: Sequence[str] = ()) -> None:
        """Store the sentence to show, and the lines below it."""
        super().__init__(text)
        self.more = more


@contextmanager
def as_command_error(*kinds: type[Exception], place: str = "") -> Iterator[None]:
    """Turn errors of these kinds into one for the user, which begins with the ``place``.

    Raises:
        CommandError: one of them was raised.
    """
    try:
        yield
    except kinds as error:
        raise CommandError(f"{place}{getattr(error, 'strerror', None) or error}") from error


class InternalError(Exception):
    """perflint itself failed, for the reason in ``__cause__``; ``path`` is the file it failed on, if known."""

    def __init__(self, path: str | None) -> None:
        """Name the file."""
        super().__init__(path)
        self.path = path


def internal_error(error: Exception) -> str:
    """The message about an unexpected error, with the file that perflint failed on if the error names it."""
    path = getattr(error, "path", None)
    place = f" in {path}" if path else ""
    cause = error.__cause__ if path and error.__cause__ else error
    what = " ".join(f"{type(cause).__name__}: {cause}".split())
    return visible(
        f"perflint: internal error{place}: {what}. This is a bug in perflint: please report it at {REPORT_TO} "
        "(with PERFLINT_DEBUG=1 in the environment the run shows where it happened)"
    )


def refuse_options(given: Mapping[str, object], why: str) -> None:
    """Reject options that another one rules out.

    Args:
        given: the values of these options by name; those that are not given are false or None.
        why: the beginning of the sentence that ends with the name of the first one that is given.

    Raises:
        CommandError: one of them is given.
    """
    for name, value in given.items():
        if value:
            raise CommandError(f"{why} {name}")


def is_debugging() -> bool:
    """Whether the user has asked for tracebacks."""
    return os.environ.get("PERFLINT_DEBUG") == "1"


def failing_file(sources: Mapping[str, Source], settings: Settings) -> str | None:
    """The path of the first file that makes the checks fail when it is checked alone."""
    from perflint.run import engine

    for path, source in sources.items():
        try:
            engine.check({path: source}, settings)
        except Exception:
            return path
    return None


# -- signals ----------------------------------------------------------------------------------------------------------

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
