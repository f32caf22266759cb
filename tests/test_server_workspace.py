"""The files that a server knows: which are checked together, which alone, which not; and what it does when it fails."""

from __future__ import annotations

import gc
import logging
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from perflint.findings import Level
from perflint.incremental.kept_project import KeptProject
from perflint.run import engine, session
from perflint.run.session import Session
from perflint.server import kept, workspace
from perflint.server.client import EditorSettings, Tell
from perflint.server.documents import Document, View
from perflint.server.workspace import Workspace
from perflint.text.source import Source
from tests.ranking_samples import recorded, write_json
from tests.server_sessions import project
from tests.support import in_step
from tests.test_server_code_actions import TWO_SUMS_LOGGED

SUM = in_step("total += loss.item()")
CPU = "import paddle\nimport train\n\npaddle.set_device('cpu')\n"


class Scene:
    """A workspace with open documents, and what it has told."""

    def __init__(self, *roots: Path, enable: bool = True) -> None:
        self.told: list[str] = []
        self.workspace = Workspace(Tell(self.told.append, self.told.append))
        self.view = View(folders=tuple(map(str, roots)), settings={"": EditorSettings(enable=enable)})

    def show(self, path: Path, text: str, language: str = "python") -> list[str]:
        """The codes of a document after it was changed."""
        return self.show_uri(path.as_uri(), str(path), text, language)

    def show_uri(self, uri: str, path: str, text: str, language: str = "python") -> list[str]:
        documents = {**self.view.documents, uri: Document(uri, path, text, 1, language=language)}
        self.view = replace(self.view, documents=documents, looks=self.view.looks + 1)
        self.workspace.take(self.view)
        self.workspace.settle()
        return self.codes(uri)

    def codes(self, uri: str) -> list[str]:
        (result,) = (each for each in self.workspace.results() if each.document.uri == uri)
        return [finding.code for finding in result.findings]


def test_files_of_a_folder_are_checked_together_and_others_alone(tmp_path: Path) -> None:
    root, outside = project(tmp_path / "in", train=SUM, main=CPU), project(tmp_path / "out", train=SUM, main=CPU)
    scene = Scene(root)
    assert scene.show(root / "train.py", SUM) == []  # another file of the folder says that it runs on the CPU
    assert scene.show(outside / "train.py", SUM) == ["PPF201"]
    assert scene.show(root / "main.py", "") == []
    assert scene.codes((root / "train.py").as_uri()) == ["PPF201"]


def test_documents_that_are_not_checked(tmp_path: Path) -> None:
    root = project(tmp_path / "in", train=SUM)
    (root / ".gitignore").write_text("made/\n")
    (root / ".git").mkdir()
    (tmp_path / "site-packages").mkdir()
    scene = Scene(root)
    assert scene.show(root / "made" / "new.py", SUM) == []
    assert scene.show(root / "build" / "new.py", SUM) == []
    assert scene.show(tmp_path / "site-packages" / "library.py", SUM) == []
    assert scene.show(root / "notes.md", SUM, "markdown") == []
    assert scene.show_uri("git:/x/train.py", "git:/x/train.py", SUM) == []
    assert scene.show_uri("vscode-notebook-cell:/x.ipynb#a", "vscode-notebook-cell:/x.ipynb#a", "%pip x") == []


def test_documents_without_a_file_of_that_name(tmp_path: Path) -> None:
    root = project(tmp_path, main=CPU)
    scene = Scene(root)
    assert scene.show_uri("untitled:Untitled-1", "untitled:Untitled-1", SUM) == ["PPF201"]
    assert scene.show(root / "train", SUM) == ["PPF201"]
    assert scene.show(root / "train.py", SUM) == []  # about to be saved among the others


def test_a_link_shows_what_its_file_shows(tmp_path: Path) -> None:
    root = project(tmp_path / "in", train=SUM, main=CPU)
    (tmp_path / "link").symlink_to(root)
    (root / "again.py").symlink_to(root / "train.py")
    scene = Scene(root)
    assert scene.show(root / "again.py", SUM) == []
    assert scene.show(tmp_path / "link" / "train.py", SUM) == []
    assert Scene(tmp_path / "link").show(root / "train.py", SUM) == []


def test_the_inner_of_two_folders_owns_a_file(tmp_path: Path) -> None:
    root = project(tmp_path, main=CPU.replace("import train", "from inner import train"))
    inner = project(tmp_path / "inner", train=SUM)
    assert Scene(root, inner).show(inner / "train.py", SUM) == ["PPF201"]
    assert Scene(root).show(inner / "train.py", SUM) == []


def test_switched_off(tmp_path: Path) -> None:
    root = project(tmp_path / "in", train=SUM)
    scene = Scene(root, enable=False)
    assert scene.show(root / "train.py", SUM) == []
    assert scene.show(tmp_path / "other.py", SUM) == []


def test_a_folder_that_is_too_big(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspace, "MOST_BYTES", len(SUM) + len(CPU) - 1)
    root = project(tmp_path, train=SUM, main=CPU)
    scene = Scene(root)
    assert scene.show(root / "train.py", SUM) == ["PPF201"]
    assert scene.show(root / "train.py", "x = 1\n") == []
    assert len(scene.told) == 1
    (root / "main.py").unlink()
    assert scene.show(root / "train.py", SUM) == ["PPF201"]


def test_fixing_tells_only_of_the_document_as_it_is(tmp_path: Path) -> None:
    root = project(tmp_path, train=TWO_SUMS_LOGGED)
    scene = Scene(root)
    shown = scene.show(root / "train.py", TWO_SUMS_LOGGED)
    document = scene.view.documents[(root / "train.py").as_uri()]
    text = scene.workspace.fixed(document, Level.UNSAFE)
    assert text is not None
    assert ".item()" not in text
    assert scene.workspace.fixed(document, Level.SAFE, "PPF306") == TWO_SUMS_LOGGED
    assert scene.workspace.fixed(replace(document), Level.SAFE) is None
    scene.workspace.settle()
    assert scene.codes(document.uri) == shown


class RuleFailed(Exception):
    pass


def test_a_file_that_a_rule_fails_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It shows nothing until it changes, the others what they show, and the log says so once."""
    parse = KeptProject

    def failing(sources: dict[str, Source], *arguments: Any) -> object:
        if any("explode" in source.text for source in sources.values()):
            raise RuleFailed
        return parse(sources, *arguments)

    check = engine.check

    def failing_check(sources: dict[str, Source], *arguments: Any) -> object:
        if any("explode" in source.text for source in sources.values()):
            raise RuleFailed
        return check(sources, *arguments)

    monkeypatch.setattr(session, "KeptProject", failing)
    monkeypatch.setattr(engine, "check", failing_check)
    root = project(tmp_path, train=SUM, bad=f"{SUM}explode = 1\n")
    scene = Scene(root)
    with caplog.at_level(logging.ERROR):
        assert scene.show(root / "bad.py", f"{SUM}explode = 1\n") == []
        assert scene.show(root / "train.py", SUM) == ["PPF201"]
        assert scene.show(root / "train.py", f"{SUM}# note\n") == ["PPF201"]
        assert scene.show(tmp_path / "alone.md", f"{SUM}explode = 2\n") == []
    assert [record.message.split(" failed on ")[1].split(",")[0] for record in caplog.records] == [
        str(root / "bad.py"),
        str(tmp_path / "alone.md"),
    ]
    assert scene.show(root / "bad.py", SUM) == ["PPF201"]


def test_many_edits_leave_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspace, "_TIDY_AFTER", 20)
    root = project(tmp_path, train=SUM, main="import train\n")
    scene = Scene(root)

    def objects_after(edits: int) -> int:
        for number in range(edits):
            text = f"{SUM}{'x = (' if number % 7 == 3 else f'x{number} = {number}'}\n"
            scene.show(root / "train.py", text)
            scene.workspace.get_ready()
        scene.show(root / "train.py", SUM)
        for _ in range(20):
            scene.workspace.take(scene.view)
        scene.workspace.tidy()
        gc.unfreeze()
        gc.collect()
        return len(gc.get_objects())

    before = objects_after(100)
    assert objects_after(300) < before * 1.01


def test_findings_of_a_baseline_are_not_shown_nor_fixed(tmp_path: Path) -> None:
    root = project(tmp_path, train=TWO_SUMS_LOGGED)
    scene = Scene(root)
    path = root / "train.py"
    assert scene.show(path, TWO_SUMS_LOGGED) == ["PPF201", "PPF201", "PPF202"]
    (root / "perflint.toml").write_text('baseline = "known.json"\n')
    assert scene.show(path, TWO_SUMS_LOGGED) == ["PPF201", "PPF201", "PPF202"]
    assert scene.show(path, TWO_SUMS_LOGGED) == ["PPF201", "PPF201", "PPF202"]
    (told,) = scene.told
    assert told.startswith(f"perflint: {root / 'known.json'}: there is no such baseline")
    written = f"--write-baseline={root / 'known.json'}"
    command = [sys.executable, "-m", "perflint", "check", str(root), "--select", "PPF201", written]
    subprocess.run(command, check=False, cwd=Path(__file__).parents[1])
    assert scene.show(path, f"# moved\n{TWO_SUMS_LOGGED}") == ["PPF202"]
    document = scene.view.documents[path.as_uri()]
    assert scene.workspace.fixed(document, Level.SAFE, "PPF201") == document.text
    (root / "known.json").write_text("{}")
    assert scene.show(path, TWO_SUMS_LOGGED) == ["PPF202"]
    assert len(scene.told) == 2


def test_messages_say_what_the_profile_says(tmp_path: Path) -> None:
    root = project(tmp_path, train=SUM)
    (root / "perflint.toml").write_text('profile = "own.json"\n')
    scene = Scene(root)
    told = []
    for text in (SUM, f"# moved\n{SUM}"):
        scene.show(root / "train.py", text)
        told += [finding.message for result in scene.workspace.results() for finding in result.findings]
        write_json(root / "own.json", recorded(phases={"read": 0.25}))
    assert [message.partition(" Profile: ")[2] for message in told] == [
        "",
        "25.0 % of the step (phase read): at most 1.33x.",
    ]
    assert scene.told == []


def test_files_that_are_read_for_their_context(tmp_path: Path) -> None:
    root = project(tmp_path, main=CPU.replace("import train", "from part import train"))
    part = project(tmp_path / "part", train=SUM)
    assert Scene(part).show(part / "train.py", SUM) == ["PPF201"]
    (root / "perflint.toml").write_text('context = ["."]\n')
    scene = Scene(part)
    assert scene.show(part / "train.py", SUM) == []
    assert scene.show(root / "main.py", "import paddle\n") == []
    assert scene.codes((part / "train.py").as_uri()) == ["PPF201"]
    (root / "perflint.toml").write_text('context = ["gone"]\n')
    assert scene.show(part / "train.py", SUM) == ["PPF201"]
    assert ["gone does not exist" in told for told in scene.told] == [True]


def test_a_session_stays_however_many_files_are_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is made again only to let go of files that were closed."""
    made: list[object] = []

    class Counted(Session):
        def __init__(self, *arguments: Any) -> None:
            made.append(arguments)
            super().__init__(*arguments)

    monkeypatch.setattr(session, "Session", Counted)
    monkeypatch.setattr(kept, "MOST_CLOSED", 2)
    names = [f"train{number}" for number in range(6)]
    root = project(tmp_path, **dict.fromkeys(names, SUM))
    scene = Scene(root)
    for name in names:
        assert scene.show(root / f"{name}.py", f"{SUM}# {name}\n") == ["PPF201"]
    assert len(made) == 1
    uri = (root / "train0.py").as_uri()
    scene.view = replace(scene.view, documents={uri: scene.view.documents[uri]})
    assert scene.show(root / "train0.py", "x = 1\n") == []
    assert len(made) == 2
    assert scene.show(root / "train0.py", SUM) == ["PPF201"]
    assert len(made) == 2
