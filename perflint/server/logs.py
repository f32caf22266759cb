"""The log: on standard error, and in the editor."""

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
    """Two ways to tell a person something: ``note`` writes it into the log, ``complain`` shows a message as well."""

    note: Callable[[str], None]
    complain: Callable[[str], None]


class Complaint:
    """What is wrong with something, "" for nothing; a person is told when it becomes another problem, and only then."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._now = ""

    def update(self, problem: str) -> str:
        """Note what is wrong now; what was wrong before."""
        before, self._now = self._now, problem
        if problem and problem != before:
            self._tell.complain(f"perflint: {problem}")
        return before


class EditorHandler(logging.Handler):
    """Hands what is logged to the editor, a line without its traceback unless ``PERFLINT_DEBUG=1``."""

    def __init__(self, send: Callable[[int, str], None]) -> None:
        super().__init__(logging.INFO)
        self.setFormatter(Brief("%(message)s"))
        self._send = send

    def emit(self, record: logging.LogRecord) -> None:
        """Send one record."""
        try:
            self._send(record.levelno, self.format(record))
        except Exception:  # there is nobody left to tell
            return


class Brief(logging.Formatter):
    """A line for each record; an error with its traceback only for those who look for one."""

    def formatException(self, info: Any) -> str:  # noqa: N802 - the name of the base class
        """What went wrong."""
        if is_debugging():
            return super().formatException(info)
        error = info[1] if isinstance(info, tuple) else info
        return f"{type(error).__name__}: {error} (PERFLINT_DEBUG=1 in the environment shows where)"

    def format(self, record: logging.LogRecord) -> str:
        """The whole text."""
        record.exc_text = None  # which another formatter may have left
        return visible(super().format(record), keep="\n\t")


def show_port() -> None:
    """Let pygls say which port it listens on."""
    logging.getLogger("pygls.server").setLevel(logging.INFO)


def set_up() -> None:
    """Write what perflint logs, and the warnings of what it uses, to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Brief("perflint server: %(message)s"))
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    logging.getLogger("perflint").setLevel(logging.INFO)
    logging.getLogger("pygls").setLevel(logging.DEBUG if is_debugging() else logging.CRITICAL)
