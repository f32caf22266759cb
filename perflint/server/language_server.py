"""The server side of the protocol: receives messages from the editor, and acts on them."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcMethodNotFound
from pygls.lsp.server import LanguageServer

from perflint import __version__
from perflint.commands.watch import SETTLED
from perflint.server import client, code_actions, diagnostics
from perflint.server.checking import Checking
from perflint.server.client import Client, Preferences, Tell, path_of
from perflint.server.diagnostics import Publisher
from perflint.server.documents import Document, Result
from perflint.server.state import EditorState, Waiting
from perflint.text.visible import visible

log = logging.getLogger(__name__)


_LEVELS = {logging.INFO: types.MessageType.Info, logging.WARNING: types.MessageType.Warning}


class PerflintServer(LanguageServer):
    """The server of one editor."""

    def __init__(self) -> None:
        super().__init__("perflint", __version__, text_document_sync_kind=types.TextDocumentSyncKind.Full)
        self.client = Client()
        tell = Tell(partial(self._soon, log.info), partial(self._soon, self._complain))
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
        logging.getLogger("perflint").addHandler(client.EditorHandler(self._log_in_editor))
        self.client = Client.of(params.capabilities)
        self.publisher = Publisher(self, self.client)
        self.preferences.take(params.initialization_options)
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
        if self._loop is not None:
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(action, *arguments)

    def _complain(self, message: str) -> None:
        log.error(message)
        self.window_show_message(types.ShowMessageParams(types.MessageType.Error, visible(message, keep="\n")))

    def _log_in_editor(self, level: int, message: str) -> None:
        """Write a line to the editor's log; may be called in any thread."""
        kind = _LEVELS.get(level, types.MessageType.Error)
        self._soon(self.window_log_message, types.LogMessageParams(kind, message))


# -- the handler of each message --------------------------------------------------------------------------------------


def make() -> PerflintServer:
    """Make a server that waits for an editor."""
    server = PerflintServer()
    for method, handler in _HANDLERS.items():
        _add(server, method, handler)
    _add(server, types.TEXT_DOCUMENT_DID_SAVE, _saved, types.SaveOptions(include_text=False))
    return server


def _add(server: PerflintServer, method: str, handler: Callable[..., Any], options: Any = None) -> None:
    # A partial, because pygls finds out by names and annotations whether a function takes the server.
    server.feature(method, options)(partial(handler, server))


# -- from start to end -----------------------------------------------------------------------------------------------


def _initialize(server: PerflintServer, params: types.InitializeParams) -> None:
    server.begin(params)
    client = server.client
    if client.pulls:
        options = types.DiagnosticOptions(
            inter_file_dependencies=True, workspace_diagnostics=False, identifier="perflint"
        )
        _add(server, types.TEXT_DOCUMENT_DIAGNOSTIC, _diagnostic, options)
    if client.has_action_kinds:
        answer = partial(code_actions.answer, server.state, client)
        server.feature(types.TEXT_DOCUMENT_CODE_ACTION, code_actions.options(client))(answer)
        if client.resolves_edits:
            server.feature(types.CODE_ACTION_RESOLVE)(partial(code_actions.resolve, server.state, client))


async def _initialized(server: PerflintServer, _: types.InitializedParams) -> None:
    server.state.checking.start()
    await _ask_for_settings(server)
    server.state.checking.go_on()
    try:
        await client.register_watchers(server, server.client)
    except Exception as error:  # some editors claim that they can, but cannot
        log.warning("the editor does not watch files: %s", error)
        server.client = replace(server.client, registers_watchers=False)


def _shutdown(server: PerflintServer, _: None) -> None:
    server.is_shut_down = True
    server.state.checking.stop()


def _exit(server: PerflintServer, _: None) -> None:
    """Exit at once: the reading thread would wait for the editor to close the stream, and for a running check."""
    server.state.checking.stop()
    sys.stderr.flush()
    os._exit(0 if server.is_shut_down else 1)


# -- documents -------------------------------------------------------------------------------------------------------


def _opened(server: PerflintServer, params: types.DidOpenTextDocumentParams) -> None:
    server.state.open(server.document(params.text_document), looks=not server.client.registers_watchers)
    if server.client.shows_progress:
        server.waiting.watch(server.state, params.text_document.uri)


def _changed(server: PerflintServer, params: types.DidChangeTextDocumentParams) -> None:
    document = params.text_document
    text = server.workspace.get_text_document(document.uri).source
    server.state.edit(document.uri, document.version, text)


def _saved(server: PerflintServer, params: types.DidSaveTextDocumentParams) -> None:
    if not server.client.registers_watchers:
        server.state.look()


def _closed(server: PerflintServer, params: types.DidCloseTextDocumentParams) -> None:
    server.publisher.close(params.text_document.uri)
    server.state.close(params.text_document.uri)


async def _diagnostic(server: PerflintServer, params: types.DocumentDiagnosticParams) -> types.DocumentDiagnosticReport:
    result = await server.state.current(params.text_document.uri)
    return server.publisher.report(result, params.previous_result_id)


def _hover(server: PerflintServer, params: types.HoverParams) -> types.Hover | None:
    return diagnostics.hover_at(server.state, server.client, params)


# -- what is around them ---------------------------------------------------------------------------------------------


async def _configured(server: PerflintServer, params: types.DidChangeConfigurationParams) -> None:
    server.preferences.take(params.settings)
    await _ask_for_settings(server)


def _files_changed(server: PerflintServer, _: types.DidChangeWatchedFilesParams) -> None:
    server.state.look(SETTLED)  # if one file has changed, as after a switch of branches, others may have too


async def _folders_changed(server: PerflintServer, _: types.DidChangeWorkspaceFoldersParams) -> None:
    server.state.work_in(server.folders())
    await _ask_for_settings(server)


async def _ask_for_settings(server: PerflintServer) -> None:
    """Request the current settings of the editor."""
    settings = server.preferences.known()
    if server.client.answers_configuration:
        try:
            settings = await server.preferences.asked(server.state.view.folders)
        except Exception as error:  # some editors claim that they can, but cannot
            log.warning("the editor does not send its settings: %s", error)
    server.state.configure(settings)


_HANDLERS: dict[str, Callable[..., Any]] = {
    types.INITIALIZE: _initialize,
    types.INITIALIZED: _initialized,
    types.SHUTDOWN: _shutdown,
    types.EXIT: _exit,
    types.TEXT_DOCUMENT_DID_OPEN: _opened,
    types.TEXT_DOCUMENT_DID_CHANGE: _changed,
    types.TEXT_DOCUMENT_DID_CLOSE: _closed,
    types.TEXT_DOCUMENT_HOVER: _hover,
    types.WORKSPACE_DID_CHANGE_CONFIGURATION: _configured,
    types.WORKSPACE_DID_CHANGE_WATCHED_FILES: _files_changed,
    types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: _folders_changed,
}
