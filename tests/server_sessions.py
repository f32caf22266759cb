"""A server as a process of its own, and the editor in front of it, for the tests of ``perflint server``."""

from __future__ import annotations

import asyncio
import os
import sys
import warnings
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lsprotocol import types
from pytest_lsp import LanguageClient, client_capabilities, make_test_lsp_client
from pytest_lsp.checks import LspSpecificationWarning

PROFILES = ("visual_studio_code", "neovim@0.10", "neovim@0.11", "emacs", "neovim@0.7")
SERVER = (sys.executable, "-m", "perflint", "server", "--stdio")
_PATIENCE = 240
"""Seconds after which a test that waits for the server fails."""


@dataclass
class Editor:
    """One editor: what it shows, and what it does."""

    client: LanguageClient
    root: Path
    started: types.InitializeResult
    versions: dict[str, int] = field(default_factory=dict)
    shown: dict[str, types.PublishDiagnosticsParams] = field(default_factory=dict)

    def uri(self, path: str) -> str:
        return (self.root / path).as_uri()

    def identifier(self, path: str) -> types.TextDocumentIdentifier:
        return types.TextDocumentIdentifier(self.uri(path))

    def open(self, path: str, text: str | None = None, language: str = "python") -> None:
        uri = self.uri(path)
        text = (self.root / path).read_bytes().decode() if text is None else text
        self.versions[uri] = self.versions.get(uri, 0) + 1
        item = types.TextDocumentItem(uri, language, self.versions[uri], text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))

    def change(self, path: str, text: str) -> None:
        uri = self.uri(path)
        self.versions[uri] += 1
        name = types.VersionedTextDocumentIdentifier(uri=uri, version=self.versions[uri])
        change = types.TextDocumentContentChangeWholeDocument(text)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(name, [change]))

    def save(self, path: str) -> None:
        self.client.text_document_did_save(types.DidSaveTextDocumentParams(self.identifier(path)))

    def close(self, path: str) -> None:
        self.client.text_document_did_close(types.DidCloseTextDocumentParams(self.identifier(path)))

    async def codes(self, path: str) -> list[str]:
        """The codes of what a document shows, once it shows its last version."""
        uri = self.uri(path)
        await self.until(lambda: uri in self.shown and self.shown[uri].version == self.versions[uri])
        return [str(diagnostic.code) for diagnostic in self.shown[uri].diagnostics]

    async def until(self, condition: Callable[[], Any]) -> None:
        """Wait for the server to send what makes something true."""

        async def wait() -> None:
            while not condition():
                await asyncio.sleep(0.01)

        await asyncio.wait_for(wait(), _PATIENCE)

    async def actions(self, path: str, rows: tuple[int, int], only: list[str] | None = None) -> list[types.CodeAction]:
        """What is offered for some rows, from 0, with its edits."""
        place = types.Range(types.Position(rows[0], 0), types.Position(rows[1], 0))
        context = types.CodeActionContext([], only=only)
        params = types.CodeActionParams(self.identifier(path), place, context)
        found: list[Any] = list(await self.client.text_document_code_action_async(params) or ())
        for number, action in enumerate(found):
            if action.edit is None and action.disabled is None:
                found[number] = await self.client.code_action_resolve_async(action)
        return found

    async def hover(self, path: str, row: int, column: int) -> str | None:
        position = types.Position(row, column)
        answer = await self.client.text_document_hover_async(types.HoverParams(self.identifier(path), position))
        if answer is None:
            return None
        assert isinstance(answer.contents, types.MarkupContent)
        return answer.contents.value


@asynccontextmanager
async def session(
    root: Path,
    profile: str = "neovim@0.11",
    change: Callable[[types.ClientCapabilities], None] = lambda _: None,
    options: Any = None,
    answers: dict[str, Any] | None = None,
    environment: dict[str, str] | None = None,
) -> AsyncIterator[Editor]:
    """An editor with a workspace, started as a profile says and shut down in the end, which the server survives.

    Args:
        root: the folder of the workspace.
        profile: the editor, as pytest-lsp names it.
        change: changes what the editor says it can.
        options: the options at the start.
        answers: the settings that the editor tells when it is asked.
        environment: variables for the server besides those of the tests.
    """
    client = make_test_lsp_client()
    capabilities = client_capabilities(profile)
    change(capabilities)
    if answers is not None:
        client.set_configuration(answers, section="perflint")
    with warnings.catch_warnings():
        warnings.simplefilter("error", LspSpecificationWarning)
        await client.start_io(*SERVER, env={**os.environ, **(environment or {})}, cwd=_checkout())
        params = types.InitializeParams(capabilities, root_uri=root.as_uri(), initialization_options=options)
        params.workspace_folders = [types.WorkspaceFolder(root.as_uri(), root.name)]
        client.protocol.fm.builtin_features[types.CLIENT_REGISTER_CAPABILITY] = lambda _: None
        editor = Editor(client, root, await client.initialize_session(params))
        _note_versions(client, editor)
        try:
            yield editor
        finally:
            await asyncio.wait_for(client.shutdown_session(), _PATIENCE)
            await client.stop()  # type: ignore[no-untyped-call]  # pygls has no types there
    assert client._server is not None
    assert client._server.returncode == 0


def _note_versions(client: LanguageClient, editor: Editor) -> None:
    """Keep what the server sends, with the version that it is for."""
    protocol: Any = client.protocol
    keep = protocol.fm.features[types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS]

    def note(params: types.PublishDiagnosticsParams) -> None:
        keep(params)
        editor.shown[params.uri] = params

    protocol.fm.features[types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS] = note


def _checkout() -> str:
    return str(Path(__file__).resolve().parents[1])


def project(root: Path, **files: str) -> Path:
    """A workspace with some modules; a name is that of a file without its suffix."""
    root.mkdir(parents=True, exist_ok=True)
    (root / "README.md").touch()
    for name, text in files.items():
        (root / f"{name}.py").write_bytes(text.encode())
    return root
