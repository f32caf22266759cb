"""Handles each message of the editor."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from lsprotocol import types

from perflint.commands.watch import SETTLED
from perflint.server import code_actions, hover, watching
from perflint.server.language_server import PerflintServer

log = logging.getLogger(__name__)


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
        _add(server, types.TEXT_DOCUMENT_CODE_ACTION, code_actions.answer, code_actions.options(client))
        if client.resolves_edits:
            _add(server, types.CODE_ACTION_RESOLVE, code_actions.resolve)


async def _initialized(server: PerflintServer, _: types.InitializedParams) -> None:
    server.state.checking.start()
    await _ask_for_settings(server)
    server.state.checking.go_on()
    try:
        await watching.register(server, server.client)
    except asyncio.CancelledError:
        raise
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


# -- what is around them ---------------------------------------------------------------------------------------------


async def _configured(server: PerflintServer, params: types.DidChangeConfigurationParams) -> None:
    server.preferences.change(params.settings)
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
        except asyncio.CancelledError:
            raise
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
    types.TEXT_DOCUMENT_HOVER: hover.answer,
    types.WORKSPACE_DID_CHANGE_CONFIGURATION: _configured,
    types.WORKSPACE_DID_CHANGE_WATCHED_FILES: _files_changed,
    types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: _folders_changed,
}
