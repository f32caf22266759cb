"""The commands of ``perflint``, imported only when they are used, and the errors that all of them raise."""

from __future__ import annotations

import os
from contextlib import contextmanager

from perflint import REPORT_TO
from perflint.text.visible import visible

TYPE_CHECKING = False
if TYPE_CHECKING:  # the command line imports this at every start
    from collections.abc import Iterator, Mapping, Sequence

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
