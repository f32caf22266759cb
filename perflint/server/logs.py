"""Logging: to standard error, and to the editor."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from perflint.commands import is_debugging
from perflint.text.visible import visible


@dataclass(frozen=True)
class Tell:
    """Two ways to inform the user: ``note`` writes to the log, ``complain`` also shows a message."""

    note: Callable[[str], None]
    complain: Callable[[str], None]


class Complaint:
    """A problem with something ("" for none), which is shown to the user only when it changes."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._now = ""

    def update(self, problem: str) -> str:
        """Set the current problem; return the previous one."""
        before, self._now = self._now, problem
        if problem and problem != before:
            self._tell.complain(f"perflint: {problem}")
        return before


class EditorHandler(logging.Handler):
    """Passes log records to the editor, on one line without the traceback unless ``PERFLINT_DEBUG=1``."""

    def __init__(self, send: Callable[[int, str], None]) -> None:
        super().__init__(logging.INFO)
        self.setFormatter(Brief("%(message)s"))
        self._send = send

    def emit(self, record: logging.LogRecord) -> None:
        """Send one record."""
        try:
            self._send(record.levelno, self.format(record))
        except Exception:  # the connection is closed
            return


class Brief(logging.Formatter):
    """Formats each record on one line; tracebacks are only shown if requested."""

    def formatException(self, info: Any) -> str:  # noqa: N802 - the name of the base class
        """The error on one line, or its traceback."""
        if is_debugging():
            return super().formatException(info)
        error = info[1] if isinstance(info, tuple) else info
        return f"{type(error).__name__}: {error} (PERFLINT_DEBUG=1 in the environment shows where)"

    def format(self, record: logging.LogRecord) -> str:
        """The formatted record."""
        record.exc_text = None  # another formatter may have left it
        return visible(super().format(record), keep="\n\t")


def show_port() -> None:
    """Make pygls log the port that it listens on."""
    logging.getLogger("pygls.server").setLevel(logging.INFO)


def set_up() -> None:
    """Send perflint's log, and warnings of the libraries it uses, to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Brief("perflint server: %(message)s"))
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    logging.getLogger("perflint").setLevel(logging.INFO)
    logging.getLogger("pygls").setLevel(logging.DEBUG if is_debugging() else logging.CRITICAL)
