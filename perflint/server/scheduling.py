"""One thread that does all the checking, one job after the other, each when it is due."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import count
from typing import TypeVar

Result = TypeVar("Result")
Job = Callable[[], object]

MOST_DELAYED = 1.0
"""Seconds after which a job runs even if it is posted again and again."""

_STACK = 64 * 2**20
"""Stack size in bytes: for deeply nested code, the parser needs more than threads have on some systems."""

log = logging.getLogger(__name__)


@dataclass
class _Entry:
    job: Job
    due: float
    first: float


class Worker:
    """A thread that does named jobs; a new job replaces one of the same name that has not started."""

    def __init__(self, seconds: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._entries: dict[object, _Entry] = {}
        self._changed = threading.Condition()
        self._is_stopped = False
        self._numbers = count()
        self._first: Job = lambda: None
        self._thread = threading.Thread(target=self._run, name="perflint checks", daemon=True)

    def start(self, first: Job = lambda: None) -> None:
        """Start the thread, with a job that runs before all others."""
        self._first = first
        before = threading.stack_size()
        try:
            threading.stack_size(_STACK)
        except (ValueError, RuntimeError):  # on some systems the size cannot be chosen
            before = -1
        self._thread.start()
        if before >= 0:
            threading.stack_size(before)

    def post(self, name: object, job: Job, delay: float = 0.0, most: float = MOST_DELAYED) -> None:
        """Run a job ``delay`` seconds after the last one posted under its name, at most ``most`` after the first.

        A job that is due stays due when it is replaced.
        """
        now = self._seconds()
        with self._changed:
            before = self._entries.get(name)
            first = before.first if before is not None else now
            due = min(now + delay, first + most)
            if before is not None and before.due <= now:
                due = before.due
            self._entries[name] = _Entry(job, due, first)
            self._changed.notify()

    def ask(self, question: Callable[[], Result]) -> Future[Result]:
        """Run a function after the current job, and return its future; cancelling the future first skips it."""
        future: Future[Result] = Future()

        def answer() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(question())
            except Exception as error:
                future.set_exception(error)

        self.post(("question", next(self._numbers)), answer)
        return future

    def stop(self) -> None:
        """Start no further jobs."""
        with self._changed:
            self._is_stopped = True
            self._entries.clear()
            self._changed.notify()

    def _run(self) -> None:
        job: Job | None = self._first
        while job is not None:
            try:
                job()
            except Exception:
                log.exception("the work of the server failed")
            job = self._next()

    def _next(self) -> Job | None:
        with self._changed:
            while not self._is_stopped:
                name = min(self._entries, key=lambda each: self._entries[each].due, default=None)
                wait = self._entries[name].due - self._seconds() if name is not None else None
                if name is not None and wait is not None and wait <= 0:
                    return self._entries.pop(name).job
                self._changed.wait(wait)
        return None
