"""What editors are shown: the findings of ``perflint check``, wherever they come from, for the text as it is."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from tests.server_sessions import PROFILES, Editor, project, session
from tests.support import in_step
from tests.test_session import FILES

SUM = in_step("total += loss.item()")
HELPER = "def log(value):\n    return value.item()\n"
CALLER = "from helper import log\n" + in_step("log(loss)")
WIDTHS = {"utf-8": 4 + 2, "utf-16": 2 + 1, "utf-32": 1 + 1}
"""How many units the two characters of ``wide.py`` take."""


def checked(root: Path) -> dict[str, list[tuple[str, int, int]]]:
    """Code, row and column (from 1, in code points) of what ``perflint check`` finds in each file."""
    command = [sys.executable, "-m", "perflint", "check", str(root), "--output-format", "json", "--select", "ALL"]
    result = subprocess.run(command, capture_output=True, check=False, cwd=Path(__file__).parents[1])
    found: dict[str, list[tuple[str, int, int]]] = {}
    for item in json.loads(result.stdout):
        place = item["location"]
        found.setdefault(item["filename"], []).append((item["code"], place["row"], place["column"]))
    return found


def places(editor: Editor, path: str) -> list[tuple[str, int, int]]:
    """The same of what an editor is shown in ASCII text."""
    return [
        (str(each.code), each.range.start.line + 1, each.range.start.character + 1)
        for each in editor.shown[editor.uri(path)].diagnostics
    ]


@pytest.mark.asyncio
@pytest.mark.parametrize("profile", PROFILES)
async def test_editors_are_shown_what_a_check_finds(tmp_path: Path, profile: str) -> None:
    for path, text in FILES.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    expected = checked(tmp_path)
    (tmp_path / "wide.py").write_text(in_step("x = '😀é'; total += loss.item()"), encoding="utf-8")
    async with session(tmp_path, profile, options={"select": ["ALL"]}) as editor:
        assert editor.started.capabilities.diagnostic_provider is None
        for path in FILES:
            editor.open(path)
        for path in FILES:
            await editor.codes(path)
            assert places(editor, path) == expected.get(str(tmp_path / path), [])
        assert len(expected) == 4
        editor.open("wide.py")
        assert await editor.codes("wide.py") == ["PPF201"]
        encoding = str(editor.started.capabilities.position_encoding)
        assert places(editor, "wide.py") == [("PPF201", 12, len("        x = ''; total += ") + WIDTHS[encoding] + 1)]
        await _follow_a_caller(editor)
        assert editor.client.messages == []


async def _follow_a_caller(editor: Editor) -> None:
    """A change that is not saved decides what another document shows, and closing undoes it."""
    utils, trainer = editor.uri("pkg/utils.py"), "pkg/trainer.py"
    before = editor.shown[utils].diagnostics
    editor.change(trainer, "import paddle\n")
    await editor.until(lambda: len(editor.shown[utils].diagnostics) < len(before))
    editor.close(trainer)
    await editor.until(lambda: editor.shown[editor.uri(trainer)].diagnostics == ())
    await editor.until(lambda: editor.shown[utils].diagnostics == before)


@pytest.mark.asyncio
async def test_a_document_that_is_broken_and_mended(tmp_path: Path) -> None:
    root = project(tmp_path / "a b;c", train=SUM, café="x = 1\n")
    (root / "build").mkdir()
    (root / "build" / "made.py").write_text(SUM)
    async with session(root) as editor:
        editor.open("train.py")
        assert await editor.codes("train.py") == ["PPF201"]
        for text, codes in (
            (SUM + "x = (\n", ["PPF001"]),
            (SUM + "x = 1\n", ["PPF201"]),
            ("", []),
            ("x = 1\0\n", ["PPF003"]),
            (SUM.replace("total", "合計"), ["PPF201"]),
            ("x = '\ud83d'\n", ["PPF003"]),
            (f"x = {'-' * 50_000}1\n", ["PPF001"]),
            (SUM * 50, ["PPF201"] * 50),
            (f"# perflint: skip-file\n{SUM}", []),
        ):
            editor.change("train.py", text)
            assert await editor.codes("train.py") == codes
        editor.open("build/made.py")
        editor.open("café.py", SUM)
        editor.open("café.py", SUM)
        editor.open("new.py", SUM)
        assert await editor.codes("build/made.py") == []
        assert await editor.codes("café.py") == ["PPF201"]
        assert await editor.codes("new.py") == ["PPF201"]
        for number in range(40):
            editor.change("train.py", SUM + f"x = {number}\n")
        assert await editor.codes("train.py") == ["PPF201"]
        assert editor.client.messages == []


def pulls(capabilities: types.ClientCapabilities) -> None:
    """An editor that asks for diagnostics, and can be told to ask again."""
    assert capabilities.text_document is not None
    assert capabilities.workspace is not None
    capabilities.text_document.diagnostic = types.DiagnosticClientCapabilities(related_document_support=False)
    capabilities.workspace.diagnostics = types.DiagnosticWorkspaceClientCapabilities(refresh_support=True)


@pytest.mark.asyncio
async def test_an_editor_that_asks(tmp_path: Path) -> None:
    root = project(tmp_path, helper=HELPER, train=CALLER)
    async with session(root, "visual_studio_code", pulls) as editor:
        options: Any = editor.started.capabilities.diagnostic_provider
        assert options.inter_file_dependencies is True

        async def ask(path: str, previous: str | None = None) -> Any:
            params = types.DocumentDiagnosticParams(editor.identifier(path), previous_result_id=previous)
            return await editor.client.text_document_diagnostic_async(params)

        editor.open("helper.py")
        editor.open("train.py")
        first, caller = await asyncio.gather(ask("helper.py"), ask("train.py"))
        assert [item.code for item in first.items] == ["PPF201"]
        assert [item.code for item in caller.items] == ["PPF201"]
        again = await ask("helper.py", first.result_id)
        assert again.kind == "unchanged"
        assert again.result_id == first.result_id
        editor.change("helper.py", HELPER + "# a note\n")
        assert (await ask("helper.py", first.result_id)).kind == "unchanged"
        editor.change("train.py", in_step("pass"))
        await editor.until(lambda: editor.client.diagnostic_refresh_count == 1)
        changed = await ask("helper.py", first.result_id)
        assert changed.items == ()
        assert changed.result_id != first.result_id
        editor.close("helper.py")
        assert (await ask("helper.py")).items == ()
        assert editor.shown == {}
