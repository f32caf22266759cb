"""How long an editor waits for ``perflint server`` after a change.

    python benchmarks/server.py PaddleDetection ppdet/engine/trainer.py

Starts the server as an editor does, over standard input and output, opens one file of a directory and makes one-line
changes in it, each on top of the others.  Measured in the editor's process: ``first_ms`` from the start of the server
to the first diagnostics of the file (``initialize_ms`` of it until the server has answered the first request),
``edit_ms`` from a change to the diagnostics of that version, of which the server waits ``typing_ms`` for more keys, and
``fix_all_ms`` for the answer with all safe fixes.  ``memory_mib`` is the server's resident memory after the first
diagnostics and after all changes (Linux).  The first start has an empty cache; ``again_ms`` is ``first_ms`` of a second
start, for which the first one has left its findings there.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

import edit
from lsprotocol import types
from pygls.lsp.client import LanguageClient

from perflint.server.checking import TYPING

_PATIENCE = 300
_REST = 5.0
"""Seconds in which the server gets ready for edits, and cleans up behind them."""


def main() -> None:
    options = parser().parse_args()
    with tempfile.TemporaryDirectory() as cache:
        os.environ["PERFLINT_CACHE_DIR"] = cache  # for the servers, which are started from here
        results = asyncio.run(measured(options))
        results["again_ms"] = asyncio.run(started(options))
    import record  # imports Paddle, which would work beside the server

    record.write(results)


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("tree", type=Path, help="directory to open as a workspace")
    parser.add_argument("file", help="the file in it that is edited")
    parser.add_argument("--edits", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    return parser


async def measured(options: argparse.Namespace) -> dict[str, Any]:
    """Everything that one server takes for one file."""
    root, start = options.tree.resolve(), time.perf_counter()
    editor = Editor(root / options.file)
    await editor.start(root)
    initialized = _milliseconds(start)
    text = (root / options.file).read_text(encoding="utf-8")
    await editor.open(text)
    first = _milliseconds(start)
    memory = [editor.memory()]
    await asyncio.sleep(_REST)
    chance, runs = random.Random(options.seed), []
    for _ in range(options.edits):
        text = edit.changed(text, chance)
        runs.append(await _timed(editor.change(text)))
    fixing = await _timed(editor.fix_all())
    await asyncio.sleep(_REST)
    memory.append(editor.memory())
    await editor.stop()
    return {
        "project": root.name,
        "file": options.file,
        "lines": text.count("\n"),
        "edits": len(runs),
        "initialize_ms": initialized,
        "first_ms": first,
        "edit_ms": {"median": statistics.median(runs), "p95": statistics.quantiles(runs, n=20)[-1], "most": max(runs)},
        "typing_ms": TYPING * 1000,
        "fix_all_ms": fixing,
        "memory_mib": dict(zip(("first", "last"), memory, strict=True)),
    }


async def started(options: argparse.Namespace) -> float:
    """How long one server takes until the file shows diagnostics."""
    root, start = options.tree.resolve(), time.perf_counter()
    editor = Editor(root / options.file)
    await editor.start(root)
    await editor.open((root / options.file).read_text(encoding="utf-8"))
    first = _milliseconds(start)
    await editor.stop()
    return first


class Editor:
    """An editor with one file."""

    def __init__(self, path: Path) -> None:
        self._uri = path.as_uri()
        self._version = 0
        self._shown: asyncio.Queue[int | None] = asyncio.Queue()
        self._client = LanguageClient("benchmark", "1")
        self._client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(lambda params: self._published(params))
        self._client.feature(types.WINDOW_LOG_MESSAGE)(lambda params: print(params.message, file=sys.stderr))

    async def start(self, root: Path) -> None:
        """Until the server has said what it can."""
        await self._client.start_io(sys.executable, "-m", "perflint", "server")
        literals = types.ClientCodeActionLiteralOptions(types.ClientCodeActionKindOptions([]))
        actions = types.CodeActionClientCapabilities(code_action_literal_support=literals)
        capabilities = types.ClientCapabilities(text_document=types.TextDocumentClientCapabilities(code_action=actions))
        folder = types.WorkspaceFolder(root.as_uri(), root.name)
        await self._client.initialize_async(types.InitializeParams(capabilities, workspace_folders=[folder]))
        self._client.initialized(types.InitializedParams())

    async def open(self, text: str) -> None:
        """Until the file shows diagnostics."""
        self._version += 1
        item = types.TextDocumentItem(self._uri, "python", self._version, text)
        self._client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        await self._until_shown()

    async def change(self, text: str) -> None:
        """Until the file shows the diagnostics of another text."""
        self._version += 1
        name = types.VersionedTextDocumentIdentifier(uri=self._uri, version=self._version)
        change = types.TextDocumentContentChangeWholeDocument(text)
        self._client.text_document_did_change(types.DidChangeTextDocumentParams(name, [change]))
        await self._until_shown()

    async def fix_all(self) -> None:
        """Until the server has said what all safe fixes make of the file."""
        place = types.Range(types.Position(0, 0), types.Position(0, 0))
        context = types.CodeActionContext([], only=[types.CodeActionKind.SourceFixAll])
        params = types.CodeActionParams(types.TextDocumentIdentifier(self._uri), place, context)
        await self._client.text_document_code_action_async(params)

    def memory(self) -> float:
        """The resident memory of the server in MiB; 0 where the system does not say."""
        process = self._client._server
        status = Path(f"/proc/{process.pid if process else 0}/status")
        lines = status.read_text().splitlines() if status.exists() else []
        return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS")), 0.0)

    async def stop(self) -> None:
        """Until the server has ended."""
        await self._client.shutdown_async(None)
        self._client.exit(None)
        await self._client.stop()  # type: ignore[no-untyped-call]  # pygls has no types there

    async def _until_shown(self) -> None:
        while await asyncio.wait_for(self._shown.get(), _PATIENCE) != self._version:
            pass

    def _published(self, params: types.PublishDiagnosticsParams) -> None:
        if params.uri == self._uri:
            self._shown.put_nowait(params.version)


async def _timed(work: Awaitable[None]) -> float:
    start = time.perf_counter()
    await work
    return _milliseconds(start)


def _milliseconds(start: float) -> float:
    return (time.perf_counter() - start) * 1000


if __name__ == "__main__":
    main()
