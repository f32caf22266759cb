"""Decides when to check: at once when a file is opened, shortly after the last keystroke, and the rest when idle."""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import cached_property, partial
from typing import TYPE_CHECKING

from perflint.findings import Level
from perflint.server.documents import Document, Result, View
from perflint.server.logs import Tell
from perflint.server.scheduling import Worker

if TYPE_CHECKING:
    from perflint.server.workspace import Workspace

TYPING = 0.15
"""Seconds after the last change until a changed document is checked."""

_UNTIL_TOLD = 2.0
_UNTIL_READY = 0.5
_UNTIL_TIDY = 3.0

log = logging.getLogger(__name__)


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
