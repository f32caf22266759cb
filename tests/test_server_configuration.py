"""The settings of the server: the editor's above those of a file, both as they are at the moment."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsprotocol import types
from pytest_lsp import LanguageClient

from perflint.configuration.keys import ConfigError
from perflint.findings import Confidence
from perflint.server.client import EditorSettings, configuration_files, own_section, read_settings, resolve_settings
from tests.server_sessions import project, session
from tests.support import in_step

TWO = in_step("total += loss.item()\nprint(loss)")


def test_settings_as_an_editor_writes_them() -> None:
    settings, problems = read_settings(
        {"select": ["PPF2"], "extendSelect": ("PPF306",), "minConfidence": "low", "trace": {}}
    )
    assert settings == EditorSettings(select=("PPF2",), extend_select=("PPF306",), min_confidence="low")
    assert problems == []


@pytest.mark.parametrize("given", [None, [], "x", {}, {"select": None, "enable": None}])
def test_what_is_not_set(given: object) -> None:
    assert read_settings(given) == (EditorSettings(), [])


def test_what_cannot_be_used_is_left_out_and_said() -> None:
    settings, problems = read_settings({"select": "PPF2", "minConfidence": [], "ignore": ["PPF201"], "colour": 1})
    assert settings == EditorSettings(ignore=("PPF201",))
    assert [problem.split(":")[0] for problem in problems] == [
        "perflint.select",
        "perflint.minConfidence",
        "perflint.colour",
    ]


@pytest.mark.parametrize(
    "given",
    [
        {"perflint": {"enable": False}},
        {"enable": False},
        {"settings": {"enable": False}},
        {"settings": {"perflint": {"enable": False}, "other": {}}},
    ],
)
def test_the_section_is_found_wherever_editors_put_it(given: object) -> None:
    assert own_section(given) == {"enable": False}


def test_the_editor_stands_above_the_file(tmp_path: Path) -> None:
    (tmp_path / "perflint.toml").write_text('ignore = ["PPF2"]\nlog-interval = 50\n')
    settings = resolve_settings(tmp_path, EditorSettings(select=("PPF201",), min_confidence="high"))
    assert (settings.select, settings.ignore) == (("PPF201",), ())
    assert (settings.log_interval, settings.min_confidence) == (50, Confidence.HIGH)


def test_a_file_that_is_named(tmp_path: Path) -> None:
    (tmp_path / "perflint.toml").write_text("log-interval = 50\n")
    (tmp_path / "other.toml").write_text("log-interval = 20\n")
    editor = EditorSettings(configuration_file="other.toml")
    assert resolve_settings(tmp_path, editor).log_interval == 20
    assert configuration_files(tmp_path, editor) == [tmp_path / "other.toml"]
    assert configuration_files(tmp_path, EditorSettings())[:3] == [
        tmp_path / name for name in (".perflint.toml", "perflint.toml", "pyproject.toml")
    ]


def test_an_unknown_rule_is_told_by_the_name_of_the_setting(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^perflint\.extendSelect: \"PPF9999\" is not ALL"):
        resolve_settings(tmp_path, EditorSettings(extend_select=("PPF9999",)))


def test_all_mistakes_are_told_by_the_names_of_the_settings(tmp_path: Path) -> None:
    (tmp_path / "perflint.toml").write_text("log-interval = 0\n")
    with pytest.raises(ConfigError) as caught:
        resolve_settings(tmp_path, EditorSettings(ignore=("PPF9998",), extend_select=("PPF9999",)))
    starts = [f"{tmp_path / 'perflint.toml'}:1: log-interval: ", "perflint.ignore: ", "perflint.extendSelect: "]
    assert [told[: len(start)] for told, start in zip(caught.value.problems, starts, strict=True)] == starts


def change(given: object) -> types.DidChangeConfigurationParams:
    return types.DidChangeConfigurationParams(given)


@pytest.mark.asyncio
async def test_settings_that_change_while_files_are_open(tmp_path: Path) -> None:
    """An editor that sends them, cannot be asked and watches no files: these are looked at when one is saved."""
    root = project(tmp_path, train=TWO)
    async with session(root, "neovim@0.7", options={"ignore": ["PPF202"]}) as editor:
        client, uri = editor.client, editor.uri("train.py")

        async def shows(*codes: str) -> None:
            await editor.until(lambda: [str(item.code) for item in editor.shown[uri].diagnostics] == [*codes])

        editor.open("train.py")
        assert await editor.codes("train.py") == ["PPF201"]
        client.workspace_did_change_configuration(change({"perflint": {"ignore": ["PPF201"]}}))
        await shows("PPF202")
        client.workspace_did_change_configuration(change({"perflint": {"enable": False}}))
        await shows()
        client.workspace_did_change_configuration(change({"perflint": {"ignore": []}}))
        await shows("PPF201", "PPF202")

        (root / "perflint.toml").write_text('ignore = ["PPF201"]\nlog-interval = "often"\nmin-impact = 3\n')
        for _ in range(3):
            editor.save("train.py")
        await editor.until(lambda: client.messages)
        editor.change("train.py", TWO.replace("total", "amount"))
        assert await editor.codes("train.py") == ["PPF201", "PPF202"]
        (message,) = client.messages
        first, second = message.message.splitlines()
        assert first.startswith(f"perflint: {root}/perflint.toml:2: log-interval: found")
        assert second.startswith(f"{root}/perflint.toml:3: min-impact: found")

        (root / "perflint.toml").write_text('ignore = ["PPF201"]\n')
        editor.save("train.py")
        await shows("PPF202")
        (root / "train.py").unlink()
        (root / "perflint.toml").write_text('exclude = ["train.py"]\n')
        editor.save("train.py")
        await shows()
        assert len(client.messages) == 1


@pytest.mark.asyncio
async def test_an_editor_that_is_asked_and_watches_files(tmp_path: Path) -> None:
    """Two folders with settings of their own; one of them goes."""
    first = project(tmp_path / "first", train=TWO)
    second = project(tmp_path / "second", train=TWO, helper="x = 1\n")
    async with session(tmp_path / "first", "visual_studio_code", answers={"select": ["PPF201"]}) as editor:
        client, other = editor.client, (second / "train.py").as_uri()
        editor.open("train.py")
        assert await editor.codes("train.py") == ["PPF201"]
        event = types.WorkspaceFoldersChangeEvent([types.WorkspaceFolder(second.as_uri(), "second")], [])
        client.set_configuration({"select": ["PPF202"]}, section="perflint", scope_uri=second.as_uri())
        client.workspace_did_change_workspace_folders(types.DidChangeWorkspaceFoldersParams(event))
        item = types.TextDocumentItem(other, "python", 1, TWO)
        client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        await editor.until(lambda: other in editor.shown and _codes(editor.shown[other]) == ["PPF202"])

        client.set_configuration({"select": ["ALL"], "ignore": ["PPF202"]}, section="perflint")
        client.workspace_did_change_configuration(change(None))
        uri = editor.uri("train.py")
        await editor.until(lambda: _codes(editor.shown[uri]) == ["PPF201"])
        (first / "perflint.toml").write_text('per-file-ignores = { "*" = ["PPF201"] }\n')
        _changed(editor.client, first / "perflint.toml")
        await editor.until(lambda: _codes(editor.shown[uri]) == [])

        event = types.WorkspaceFoldersChangeEvent([], [types.WorkspaceFolder(second.as_uri(), "second")])
        client.workspace_did_change_workspace_folders(types.DidChangeWorkspaceFoldersParams(event))
        await editor.until(lambda: _codes(editor.shown[other]) == ["PPF201"])
        assert client.messages == []


def _codes(shown: types.PublishDiagnosticsParams) -> list[str]:
    return [str(item.code) for item in shown.diagnostics]


def _changed(client: LanguageClient, path: Path) -> None:
    event = types.FileEvent(path.as_uri(), types.FileChangeType.Created)
    client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))
