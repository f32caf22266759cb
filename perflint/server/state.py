"""What the event loop knows: the open documents, and what the last check found in each."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

from perflint.server.checking import TYPING, Checking
from perflint.server.client_settings import EditorSettings
from perflint.server.documents import Document, Result, View


class EditorState:
    """The open documents and their findings; to be used in the event loop alone."""

    def __init__(self, checking: Checking) -> None:
        self.checking = checking
        self.view = View()
        self._results: dict[str, Result] = {}
        self._waiting: list[asyncio.Future[None]] = []

    # -- what the editor shows -----------------------------------------------------------------------------------

    def open(self, document: Document, looks: bool) -> None:
        """A document was opened; ``looks``: files on disk may have changed as well."""
        self._show({**self.view.documents, document.uri: document}, looks=looks)

    def edit(self, uri: str, version: int, text: str) -> None:
        """A document has another text."""
        document = self.view.documents.get(uri)
        if document is not None:
            documents = {**self.view.documents, uri: replace(document, version=version, text=text)}
            self._show(documents, looks=False, delay=TYPING)

    def close(self, uri: str) -> None:
        """A document was closed: its file on disk counts again."""
        self._results.pop(uri, None)
        documents = {other: document for other, document in self.view.documents.items() if other != uri}
        self._show(documents, looks=True)
        self._wake()

    def look(self, delay: float = 0.0) -> None:
        """Files on disk, the configuration among them, may have changed; ``delay``: seconds until no more have."""
        self._show(self.view.documents, looks=True, delay=delay)

    def configure(self, settings: Mapping[str, EditorSettings]) -> None:
        """Take the settings of the editor: for each folder, and under "" for all other files."""
        if dict(settings) != dict(self.view.settings):
            self.view = replace(self.view, settings=dict(settings))
            self.look()

    def work_in(self, folders: Sequence[str]) -> None:
        """Take the folders of the workspace."""
        self.view = replace(self.view, folders=tuple(dict.fromkeys(folders)))
        self.look()

    def _show(self, documents: Mapping[str, Document], looks: bool, delay: float = 0.0) -> None:
        self.view = replace(self.view, documents=documents, looks=self.view.looks + looks)
        self.checking.show(self.view, delay)

    # -- what the checks say -------------------------------------------------------------------------------------

    def enter(self, results: Sequence[Result]) -> list[Result]:
        """Keep what the checks have found; returns what is new and about a document as it is now."""
        new = []
        for result in results:
            uri = result.document.uri
            if self.view.documents.get(uri) is result.document and self._results.get(uri) != result:
                self._results[uri] = result
                new.append(result)
        self._wake()
        return new

    def known(self, uri: str) -> Result | None:
        """What is known of a document as it is now; None before it was checked."""
        result = self._results.get(uri)
        return result if result is not None and result.document is self.view.documents.get(uri) else None

    async def current(self, uri: str, at_once: bool = False) -> Result | None:
        """Wait until a document has been checked as it is now; None if it is closed.

        ``at_once``: somebody waits for it, so check now rather than at the end of typing.
        """
        while uri in self.view.documents:
            result = self.known(uri)
            if result is not None:
                return result
            if at_once:
                self.checking.show(self.view)
            waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(waiting)
            await waiting
        return None

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)
