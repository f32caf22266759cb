"""What editors offer to do about findings: the same edits as ``perflint check --fix`` makes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from lsprotocol import types

from tests.server_sessions import Editor, project, session
from tests.support import in_step

FIX_ALL = "source.fixAll.perflint"
SAFE = in_step("a = 0.0")
TWO_SUMS_LOGGED = """\
import paddle


def train(model, loader, optimizer):
    total = 0.0
    other = 0.0
    for x, y in loader:
        loss = paddle.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        total += loss.item()
        count = len(x)
        other += loss.item() / count
        print(loss.numpy())
    return total, other
"""
TWO_SUMS = TWO_SUMS_LOGGED.replace("        print(loss.numpy())\n", "")
FIRST = 11  # the row of the first sum, from 0


def applied(text: str, editor: Editor, action: types.CodeAction) -> str:
    """A text after the edit of an action, whose columns are characters of ASCII."""
    assert action.edit is not None
    if action.edit.document_changes:
        (change,) = action.edit.document_changes
        assert isinstance(change, types.TextDocumentEdit)
        assert change.text_document.version == editor.versions[change.text_document.uri]
        edits = change.edits
    else:
        ((_, edits),) = (action.edit.changes or {}).items()
    lines = text.splitlines(keepends=True)
    starts = [sum(map(len, lines[:row])) for row in range(len(lines) + 1)]
    for edit in sorted(edits, key=lambda each: each.range.start, reverse=True):
        assert isinstance(edit, types.TextEdit)
        first, last = (starts[place.line] + place.character for place in (edit.range.start, edit.range.end))
        text = text[:first] + edit.new_text + text[last:]
    return text


def fixed(path: Path) -> str:
    """What ``perflint check --fix`` makes of a file."""
    command = [sys.executable, "-m", "perflint", "check", str(path), "--fix", "--select", "PPF201", "--no-cache"]
    subprocess.run(command, capture_output=True, check=False, cwd=Path(__file__).parents[1])
    return path.read_text()


@pytest.mark.asyncio
@pytest.mark.parametrize("profile", ["visual_studio_code", "emacs"])
async def test_fixes_are_those_of_the_command_line(tmp_path: Path, profile: str) -> None:
    root = project(tmp_path / "workspace", train=TWO_SUMS)
    expected = fixed(project(tmp_path / "copy", train=TWO_SUMS) / "train.py")
    assert expected.count(".item()") == 0
    async with session(root, profile, options={"select": ["PPF201"]}) as editor:
        editor.open("train.py")
        assert await editor.codes("train.py") == ["PPF201", "PPF201"]
        for only in ([FIX_ALL], ["source.fixAll"], ["source"]):
            (action,) = await editor.actions("train.py", (0, 0), only)
            assert action.kind == FIX_ALL
            assert applied(TWO_SUMS, editor, action) == expected
        assert await editor.actions("train.py", (0, 0), ["source.fixAll.other"]) == []

        one, everywhere, silence = await editor.actions("train.py", (FIRST, FIRST), ["quickfix"])
        assert (one.title.startswith("PPF201: "), one.is_preferred) == (True, True)
        assert one.title.endswith("(safe)")
        assert applied(TWO_SUMS, editor, one) == expected  # one fix for both reads of the loop
        assert everywhere.title == "Fix all 2 PPF201 in this file (safe)"
        assert applied(TWO_SUMS, editor, everywhere) == expected
        assert silence.title == "Disable PPF201 for this line"
        rows = applied(TWO_SUMS, editor, silence).splitlines()
        assert rows[FIRST] == "        total += loss.item()  # noqa: PPF201"

        await _after_a_change(editor, one)


async def _after_a_change(editor: Editor, stale: types.CodeAction) -> None:
    """The edits are those of the text as it is, also while it is being checked; those of an older one are not made."""
    offered = await editor.client.text_document_code_action_async(_all_of("train.py", editor))
    assert offered
    editor.change("train.py", f"# note\n{TWO_SUMS}")
    (action,) = await editor.actions("train.py", (0, 0), [FIX_ALL])
    assert applied(f"# note\n{TWO_SUMS}", editor, action).startswith("# note\nimport paddle\n")
    for old in offered:
        if isinstance(old, types.CodeAction) and old.data is not None:
            assert (await editor.client.code_action_resolve_async(old)).edit is None
    editor.change("train.py", "x = (\n")
    assert await editor.actions("train.py", (0, 1)) == []
    assert stale.edit is not None


@pytest.mark.asyncio
async def test_a_finding_about_two_lines_is_silenced_on_both(tmp_path: Path) -> None:
    text = TWO_SUMS.replace("        count = len(x)\n", "")
    root = project(tmp_path, train=text)
    async with session(root, options={"select": ["PPF201"]}) as editor:
        editor.open("train.py")
        assert await editor.codes("train.py") == ["PPF201"]
        *_, silence = await editor.actions("train.py", (FIRST + 1, FIRST + 1), ["quickfix"])
        assert silence.title == "Disable PPF201 for these 2 lines"
        rows = applied(text, editor, silence).splitlines()
        assert [row.endswith("  # noqa: PPF201") for row in rows[FIRST : FIRST + 3]] == [True, True, False]


@pytest.mark.asyncio
async def test_the_guide_shows_what_is_offered(tmp_path: Path) -> None:
    top = Path(__file__).parents[1]
    root = project(tmp_path, train=(top / "examples" / "cifar10.py").read_text(encoding="utf-8"))
    async with session(root, "visual_studio_code") as editor:
        editor.open("train.py")
        assert "PPF201" in await editor.codes("train.py")
        offered = await editor.actions("train.py", (108, 108), ["quickfix"])
    titles = "\n".join(action.title for action in offered)
    assert f"```\n{titles}\n```\n" in (top / "docs" / "editors.md").read_text(encoding="utf-8")


@pytest.mark.asyncio
async def test_a_comment_that_silences_nothing(tmp_path: Path) -> None:
    """It is shown faded, and its fix takes it out; what a person has to complete is offered, and not made."""
    text = in_step("x = 1  # noqa: PPF201\npaddle.device.cuda.empty_cache()\nuse(loss.numpy())")
    root = project(tmp_path, train=text)
    async with session(root, "visual_studio_code", options={"extendSelect": ["PPF002"]}) as editor:
        editor.open("train.py")
        assert await editor.codes("train.py") == ["PPF002", "PPF703", "PPF201"]
        unused, *others = editor.shown[editor.uri("train.py")].diagnostics
        assert unused.tags == (types.DiagnosticTag.Unnecessary,)
        assert [item.tags for item in others] == [None, None]
        row = unused.range.start.line
        (action, *_) = await editor.actions("train.py", (row, row), ["quickfix"])
        assert applied(text, editor, action).splitlines()[row] == "        x = 1"
        (unsafe, *_) = await editor.actions("train.py", (row + 1, row + 1), ["quickfix"])
        assert unsafe.title.startswith("PPF703: delete the call (unsafe: more memory stays reserved")
        assert unsafe.is_preferred is None
        assert unsafe.edit is not None
        (by_hand, *_) = await editor.actions("train.py", (row + 2, row + 2), ["quickfix"])
        assert by_hand.title.endswith("(suggestion)")
        assert by_hand.edit is None
        assert by_hand.disabled is not None


def _all_of(path: str, editor: Editor) -> types.CodeActionParams:
    place = types.Range(types.Position(0, 0), types.Position(99, 0))
    return types.CodeActionParams(editor.identifier(path), place, types.CodeActionContext([], only=["source"]))
