"""Decides when to check: at once when a file is opened, shortly after the last keystroke, and the rest when idle.

One thread does all the checking, one job after the other.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import count
from typing import TYPE_CHECKING, TypeVar

from perflint.findings import Level
from perflint.server.client import Tell
from perflint.server.documents import Document, Result, View

if TYPE_CHECKING:
    from perflint.server.workspace import Workspace

log = logging.getLogger(__name__)


TYPING = 0.15
"""Seconds after the last change until a changed document is checked."""

_UNTIL_TOLD = 2.0
_UNTIL_READY = 0.5
_UNTIL_TIDY = 3.0


class Checking:
    """Checks what the editor shows, in a thread of its own.

    Args:
        tell: shows problems to the user; called in that thread.
        results: called in that thread with the results of all open documents, whenever they may have changed.
    """

    def __init__(self, tell: Tell, results: Callable[[Sequence[Result]], None]) -> None:
        self._tell = tell
        self._results = results
        self._worker = Worker()
        self._may_go_on = threading.Event()

    @cached_property
    def _workspace(self) -> Workspace:
        """The workspace, imported in the checking thread, so that the editor need not wait for it."""
        from perflint.server.workspace import Workspace

        return Workspace(self._tell)

    def start(self) -> None:
        """Start the thread: it imports what it needs, then waits for ``go_on``, for two seconds at most."""
        self._worker.start(self._prepare)

    def go_on(self) -> None:
        """Start checking, now that the editor has sent its settings: before that, findings could be wrong."""
        self._may_go_on.set()

    def stop(self) -> None:
        """Start no further work."""
        self._worker.stop()
        self._may_go_on.set()

    def show(self, view: View, delay: float = 0.0) -> None:
        """Check what the editor shows now; an earlier view that has not been checked yet is dropped."""
        self._worker.post("show", partial(self._take, view), delay)

    def fixed(self, document: Document, level: Level, code: str | None = None) -> Future[str | None]:
        """The text of a document with its fixes applied; None if it has changed meanwhile or a rule fails on it."""
        return self._worker.ask(lambda: self._fixed(document, level, code))

    def _prepare(self) -> None:
        _ = self._workspace
        self._may_go_on.wait(_UNTIL_TOLD)

    def _take(self, view: View) -> None:
        try:
            self._workspace.take(view)
            results = self._workspace.results()
        except Exception:
            log.exception("the documents could not be checked")
            results = [Result(document, ()) for document in view.documents.values()]
        self._results(results)
        self._use_rest()

    def _use_rest(self) -> None:
        """Schedule the work that can wait until the editor is idle."""
        delay = self._workspace.settling_delay()
        if delay is not None:
            self._worker.post("settle", self._settle, delay, math.inf)
        self._worker.post("get ready", self._workspace.get_ready, _UNTIL_READY, math.inf)
        self._worker.post("tidy", self._workspace.tidy, _UNTIL_TIDY, math.inf)

    def _settle(self) -> None:
        self._workspace.settle()
        self._results(self._workspace.results())

    def _fixed(self, document: Document, level: Level, code: str | None) -> str | None:
        text = self._workspace.fixed(document, level, code)
        self._use_rest()
        return text


Answer = TypeVar("Answer")
Job = Callable[[], object]

MOST_DELAYED = 1.0
"""Seconds after which a job runs even if it is posted again and again."""

_STACK = 64 * 2**20
"""Stack size in bytes: for deeply nested code, the parser needs more than threads have on some systems."""


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

    def ask(self, question: Callable[[], Answer]) -> Future[Answer]:
        """Run a function after the current job, and return its future; cancelling the future first skips it."""
        future: Future[Answer] = Future()

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
