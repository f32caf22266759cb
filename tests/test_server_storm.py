"""A server that is sent more than it can answer at once: in the end it shows what a check of the same texts finds."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from lsprotocol import types

from perflint.server.documents import View
from tests.server_sessions import Editor, session
from tests.test_server_random import Editor as Scene
from tests.test_server_random import Shown, checked

ACTIONS = 100


def send(editor: Editor, before: View, after: View) -> None:
    """Tell the server what has changed between two views."""
    client = editor.client
    for uri in before.documents:
        if uri not in after.documents:
            client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri)))
            editor.shown.pop(uri, None)
    for uri, document in after.documents.items():
        if uri not in before.documents:
            item = types.TextDocumentItem(uri, "python", document.version, document.text)
            client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        elif before.documents[uri] is not document:
            name = types.VersionedTextDocumentIdentifier(uri=uri, version=document.version)
            change = types.TextDocumentContentChangeWholeDocument(document.text)
            client.text_document_did_change(types.DidChangeTextDocumentParams(name, [change]))
    if after.looks != before.looks:
        event = types.FileEvent((editor.root / "train.py").as_uri(), types.FileChangeType.Changed)
        client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))


async def ask(editor: Editor, scene: Scene) -> None:
    """Ask something about a document, and do not always wait for the answer."""
    uri = scene.chance.choice(list(scene.view.documents))
    document, place = types.TextDocumentIdentifier(uri), types.Position(scene.chance.randrange(60), 8)
    params = types.CodeActionParams(document, types.Range(place, place), types.CodeActionContext([]))
    asked = asyncio.ensure_future(editor.client.text_document_code_action_async(params))
    if scene.chance.random() < 0.5:
        await asked
    await editor.client.text_document_hover_async(types.HoverParams(document, place))


def shown(editor: Editor, scene: Scene) -> dict[str, Shown]:
    """What is shown of the documents as they are."""
    return {
        os.path.relpath(document.path, scene.root): [
            (str(item.code), item.range.start.line, item.range.start.character, _words(item))
            for item in editor.shown[uri].diagnostics
        ]
        for uri, document in scene.view.documents.items()
        if uri in editor.shown and editor.shown[uri].version == document.version
    }


def _words(item: types.Diagnostic) -> str:
    return item.message if item.code != "PPF003" else ""


@pytest.mark.asyncio
@pytest.mark.parametrize("seed", [4])
async def test_a_storm_of_messages(tmp_path: Path, seed: int) -> None:
    scene = Scene(tmp_path / "workspace", seed)
    async with session(scene.root, "emacs", options={"select": ["ALL"]}) as editor:
        for _ in range(ACTIONS):
            before = scene.view
            scene.do()
            send(editor, before, scene.view)
            if scene.chance.random() < 0.15 and scene.view.documents:
                await ask(editor, scene)
            await asyncio.sleep(scene.chance.choice((0, 0, 0.01, 0.2)))
        expected = checked(scene, tmp_path / "mirror")
        await editor.until(lambda: shown(editor, scene) == expected)
        assert any(expected.values())
        assert editor.client.messages == []
        errors = [each for each in editor.client.log_messages if each.type == types.MessageType.Error]
        assert errors == []
