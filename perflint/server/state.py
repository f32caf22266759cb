"""The state of the event loop: the open documents, and the findings of the last check in each.

Shows progress in the editor while the first check of a workspace takes long.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count

from lsprotocol import types
from pygls.progress import Progress

from perflint.server.checking import TYPING, Checking
from perflint.server.client import EditorSettings
from perflint.server.documents import Document, Result, View

log = logging.getLogger(__name__)


class EditorState:
    """The open documents and their findings; for use in the event loop only."""

    def __init__(self, checking: Checking) -> None:
        self.checking = checking
        self.view = View()
        self._results: dict[str, Result] = {}
        self._news = asyncio.Event()
        """Set when results have come, or a document is closed; then there is another one."""

    # -- what the editor shows -----------------------------------------------------------------------------------

    def open(self, document: Document, looks: bool) -> None:
        """Add a document that was opened; ``looks``: files on disk may have changed as well."""
        self._show({**self.view.documents, document.uri: document}, looks=looks)

    def edit(self, uri: str, version: int, text: str) -> None:
        """Change the text of a document."""
        document = self.view.documents.get(uri)
        if document is not None:
            documents = {**self.view.documents, uri: replace(document, version=version, text=text)}
            self._show(documents, looks=False, delay=TYPING)

    def close(self, uri: str) -> None:
        """Remove a document that was closed: its file on disk counts again."""
        self._results.pop(uri, None)
        documents = {other: document for other, document in self.view.documents.items() if other != uri}
        self._show(documents, looks=True)
        self._wake()

    def look(self, delay: float = 0.0) -> None:
        """Note that files on disk, or the configuration, may have changed; check after ``delay`` seconds."""
        self._show(self.view.documents, looks=True, delay=delay)

    def configure(self, settings: Mapping[str, EditorSettings]) -> None:
        """Set the editor's settings: for each folder, and under "" for all other files."""
        if dict(settings) != dict(self.view.settings):
            self.view = replace(self.view, settings=dict(settings))
            self.look()

    def work_in(self, folders: Sequence[str]) -> None:
        """Set the folders of the workspace."""
        self.view = replace(self.view, folders=tuple(dict.fromkeys(folders)))
        self.look()

    def _show(self, documents: Mapping[str, Document], looks: bool, delay: float = 0.0) -> None:
        self.view = replace(self.view, documents=documents, looks=self.view.looks + looks)
        self.checking.show(self.view, delay)

    # -- what the checks say -------------------------------------------------------------------------------------

    def enter(self, results: Sequence[Result]) -> list[Result]:
        """Store the results of the checks; return those that are new and about the current version of a document."""
        new = []
        for result in results:
            uri = result.document.uri
            if self.view.documents.get(uri) is result.document and self._results.get(uri) != result:
                self._results[uri] = result
                new.append(result)
        self._wake()
        return new

    def known(self, uri: str) -> Result | None:
        """The result for the current version of a document; None before it was checked."""
        result = self._results.get(uri)
        return result if result is not None and result.document is self.view.documents.get(uri) else None

    async def current(self, uri: str, at_once: bool = False) -> Result | None:
        """Wait for the result of the current version of a document; None if it is closed.

        ``at_once``: the user is waiting for it, so check now instead of after the last keystroke.
        """
        while uri in self.view.documents:
            result = self.known(uri)
            if result is not None:
                return result
            if at_once:
                self.checking.show(self.view)
            await self._news.wait()
        return None

    def _wake(self) -> None:
        self._news.set()
        self._news = asyncio.Event()


PATIENCE = 1.0
"""Seconds before progress is shown."""


class Waiting:
    """Shows that the workspace is being read, in editors that can show progress."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._numbers = count(1)
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_shown = False

    def watch(self, state: EditorState, uri: str) -> None:
        """Show progress until a document has been checked, if that takes longer than ``PATIENCE``."""
        task = asyncio.ensure_future(self._watch(state, uri))
        self._tasks.add(task)  # otherwise the task would be garbage collected
        task.add_done_callback(self._tasks.discard)

    async def _watch(self, state: EditorState, uri: str) -> None:
        await asyncio.sleep(PATIENCE)
        if self._is_shown or state.known(uri) is not None or uri not in state.view.documents:
            return
        self._is_shown = True
        try:
            await self._show(state, uri)
        except Exception as error:  # some editors claim that they can, but cannot
            log.debug("the editor does not show progress: %s", error)
        finally:
            self._is_shown = False

    async def _show(self, state: EditorState, uri: str) -> None:
        name = f"perflint-{next(self._numbers)}"
        await self._progress.create_async(name)
        self._progress.begin(name, types.WorkDoneProgressBegin(title="perflint: reading the workspace"))
        try:
            await state.current(uri)
        finally:
            self._progress.end(name, types.WorkDoneProgressEnd())
