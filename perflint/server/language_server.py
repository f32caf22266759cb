"""The server side of the protocol: receives messages from the editor, and acts on them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcMethodNotFound
from pygls.lsp.server import LanguageServer

from perflint import __version__
from perflint.server import logs
from perflint.server.checking import Checking
from perflint.server.client import Client
from perflint.server.documents import Document, Result
from perflint.server.logs import Tell
from perflint.server.preferences import Preferences
from perflint.server.publishing import Publisher
from perflint.server.state import EditorState
from perflint.server.uris import path_of
from perflint.server.waiting import Waiting
from perflint.text.visible import visible

log = logging.getLogger(__name__)

_LEVELS = {logging.INFO: types.MessageType.Info, logging.WARNING: types.MessageType.Warning}


class PerflintServer(LanguageServer):
    """The server of one editor."""

    def __init__(self) -> None:
        super().__init__("perflint", __version__, text_document_sync_kind=types.TextDocumentSyncKind.Full)
        self.client = Client()
        tell = Tell(partial(self._soon, self._note), partial(self._soon, self._complain))
        self.state = EditorState(Checking(tell, partial(self._soon, self._enter)))
        self.publisher = Publisher(self, self.client)
        self.preferences = Preferences(self)
        self.waiting = Waiting(self.work_done_progress)
        self.is_shut_down = False
        self._loop: asyncio.AbstractEventLoop | None = None

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Log what went wrong: by default each error would pop up in the editor, at every keystroke."""
        if not isinstance(error, JsonRpcMethodNotFound):  # the response already reports it
            log.error("%s", error, exc_info=error)

    def begin(self, params: types.InitializeParams) -> None:
        """Process the first message of the editor: its capabilities, settings and folders."""
        self._loop = asyncio.get_running_loop()
        logging.getLogger("perflint").addHandler(logs.EditorHandler(self._log_in_editor))
        self.client = Client.of(params.capabilities)
        self.publisher = Publisher(self, self.client)
        self.preferences.start_with(params.initialization_options)
        self.state.configure(self.preferences.known())
        self.state.work_in(self.folders())

    def folders(self) -> list[str]:
        """The directories of the workspace."""
        folders = list(self.workspace.folders.values())
        found = [folder.uri for folder in folders] if folders else [self.workspace.root_uri]
        return [path for uri in found if uri and (path := path_of(uri)) and not self._is_too_wide(path)]

    def _is_too_wide(self, path: str) -> bool:
        """Whether a folder is the home directory or the root, which editors send if they know no project."""
        is_too_wide = Path(path) in (Path.home(), Path(Path(path).anchor))
        if is_too_wide:
            log.info("%s is not searched for code: its files are checked one by one when they are open", path)
        return is_too_wide

    def document(self, item: types.TextDocumentItem) -> Document:
        """An opened document."""
        encoding = str(getattr(self.workspace.position_encoding, "value", self.workspace.position_encoding))
        return Document(item.uri, path_of(item.uri) or item.uri, item.text, item.version, encoding, item.language_id)

    def _enter(self, results: Sequence[Result]) -> None:
        self.publisher.show(self.state.enter(results))

    def _soon(self, action: Callable[..., None], *arguments: object) -> None:
        """Run an action in the event loop; nothing happens if the loop has ended."""
        try:
            if self._loop is not None:
                self._loop.call_soon_threadsafe(action, *arguments)
        except RuntimeError:
            return

    def _note(self, message: str) -> None:
        log.info(message)

    def _complain(self, message: str) -> None:
        log.error(message)
        self.window_show_message(types.ShowMessageParams(types.MessageType.Error, visible(message, keep="\n")))

    def _log_in_editor(self, level: int, message: str) -> None:
        """Write a line to the editor's log; may be called in any thread."""
        kind = _LEVELS.get(level, types.MessageType.Error)
        self._soon(self.window_log_message, types.LogMessageParams(kind, message))
