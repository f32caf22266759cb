"""The server's view of a workspace after random edits, against ``perflint check`` once everything is saved."""

from __future__ import annotations

import random
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from perflint import catalogue
from perflint.configuration import config_files
from perflint.findings import Finding
from perflint.inputs.input_files import read_inputs
from perflint.inputs.projects import is_whole
from perflint.output.report import message
from perflint.run import discovery, engine
from perflint.server.client import EditorSettings, Tell
from perflint.server.documents import Document, View
from perflint.server.workspace import Workspace
from tests.test_session import FILES, edited

NEW = ("pkg/new.py", "tools/new.py", "build/new.py", "café.py")
EXTREME = (
    "",
    "\ufeffimport paddle\n",
    "x = 1\0",
    "x = '\ud800'\n",
    "# coding: nonsense\n",
    "(" * 3000,
    "a = 1\n\x0c\nb\x85c\n",
)
KINDS = [*["edit"] * 8, "open", "open", "close", "save", "extreme", "mend", "create", "new"]
KINDS += ["delete", "rename", "outside", "configure"]
Shown = list[tuple[str, int, int, str]]


class Editor:
    """An editor with a workspace on disk: what it does at random, and what it is shown."""

    def __init__(self, root: Path, seed: int) -> None:
        self.root = root
        self.chance = random.Random(seed)
        for path, text in FILES.items():
            self.write(path, text)
        if seed % 2:
            self.write("README.md", "")
        self.complaints: list[str] = []
        self.workspace = Workspace(Tell(lambda _: None, self.complaints.append))
        self.settings = {"": EditorSettings(select=("ALL",))}
        self.view = View(folders=(str(root),), settings=self.settings)
        self.version = 0

    def write(self, path: str, text: str) -> None:
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode("utf-8", "surrogatepass"))

    def files(self) -> list[str]:
        return sorted(path.relative_to(self.root).as_posix() for path in self.root.rglob("*.py"))

    def show(self, path: str, text: str) -> None:
        self.version += 1
        place = self.root / path
        document = Document(place.as_uri(), str(place), text, self.version)
        self.view = replace(self.view, documents={**self.view.documents, document.uri: document})

    def text_of(self, path: str) -> str:
        document = self.view.documents.get((self.root / path).as_uri())
        if document is not None:
            return document.text
        return (self.root / path).read_bytes().decode("utf-8", "replace")

    def do(self) -> None:
        """Do something at random."""
        getattr(self, f"_{self.chance.choice(KINDS)}")()

    def act(self) -> None:
        """Do something at random, and let the server see it."""
        self.do()
        self.workspace.take(self.view)
        if self.chance.random() < 0.4:
            self.workspace.settle()
        if self.chance.random() < 0.2:
            self.workspace.get_ready()

    def _pick(self) -> str:
        opened = [Path(each.path).relative_to(self.root).as_posix() for each in self.view.documents.values()]
        return self.chance.choice(opened if opened and self.chance.random() < 0.8 else self.files())

    def _look(self) -> None:
        self.view = replace(self.view, looks=self.view.looks + 1)

    def _edit(self) -> None:
        path = self._pick()
        self.show(path, edited(self.text_of(path), self.chance))

    def _open(self) -> None:
        path = self.chance.choice(self.files())
        self.show(path, self.text_of(path))

    def _close(self) -> None:
        if self.view.documents:
            uri = self.chance.choice(list(self.view.documents))
            self.view = replace(self.view, documents={k: v for k, v in self.view.documents.items() if k != uri})
            self._look()

    def _save(self) -> None:
        path = self._pick()
        self.write(path, self.text_of(path))
        self._look()

    def _extreme(self) -> None:
        self.show(self._pick(), self.chance.choice(EXTREME))

    def _mend(self) -> None:
        path = self._pick()
        self.show(path, FILES.get(path, FILES["train.py"]))

    def _create(self) -> None:
        self.write(self.chance.choice(NEW), FILES["train.py"])
        self._look()

    def _new(self) -> None:
        self.show(self.chance.choice(NEW), FILES["pkg/utils.py"])

    def _delete(self) -> None:
        files = self.files()
        if len(files) > 2:
            (self.root / self.chance.choice(files)).unlink()
            self._look()

    def _rename(self) -> None:
        old = self.root / self.chance.choice(self.files())
        new = old.with_name(self.chance.choice(("renamed.py", "moved.py")))
        old.rename(new)
        document = self.view.documents.get(old.as_uri())
        if document is not None:
            self.view = replace(
                self.view, documents={k: v for k, v in self.view.documents.items() if v is not document}
            )
            self.show(new.relative_to(self.root).as_posix(), document.text)
        self._look()

    def _outside(self) -> None:
        path = self.chance.choice(self.files())
        self.write(path, edited((self.root / path).read_bytes().decode("utf-8", "replace"), self.chance))
        self._look()

    def _configure(self) -> None:
        text = self.chance.choice(('min-confidence = "low"\n', 'ignore = ["PPF201"]\n', 'exclude = ["tools"]\n', ""))
        self.write("perflint.toml", text)
        self._look()

    def is_shown(self) -> dict[str, Shown]:
        """What the documents show once the server is at rest."""
        self.workspace.settle()
        return {
            Path(result.document.path).relative_to(self.root).as_posix(): [
                (finding.code, *result.document.positions.place(finding.start), _words(finding))
                for finding in result.findings
            ]
            for result in self.workspace.results()
        }


def _words(finding: Finding) -> str:
    return message(finding) if finding.code != "PPF003" else ""


def checked(editor: Editor, mirror: Path) -> dict[str, Shown]:
    """What ``perflint check`` finds in the open documents once all of them are saved."""
    shutil.copytree(editor.root, mirror)
    opened = [Path(each.path).relative_to(editor.root).as_posix() for each in editor.view.documents.values()]
    for path in opened:
        place = mirror / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(editor.text_of(path).encode("utf-8", "surrogatepass"))
    known = catalogue.selectors(catalogue.shipped())
    settings = config_files.load(mirror, known=known, overrides={"select": ["ALL"]})
    sources, unreadable = discovery.read_all(discovery.python_files([mirror], settings).files)
    is_everything = not unreadable and is_whole([mirror], settings.root)
    settings = replace(settings, whole_project=is_everything, inputs=read_inputs(sources, settings.root))
    found: dict[str, Shown] = {path: [] for path in opened}
    for finding in [*engine.check(sources, settings), *unreadable]:
        path = Path(finding.path).relative_to(mirror).as_posix()
        if path in found:
            source = sources.get(finding.path)
            row, column = source.lines.position(finding.start) if source is not None else (1, 1)
            shift = source.bom if source is not None and row == 1 else 0
            words = _words(finding).replace(f"{mirror}/", "")
            found[path].append((finding.code, row - 1, column - 1 + shift, words))
    shutil.rmtree(mirror)
    return found


@pytest.mark.parametrize("seed", [*range(4), 11])  # in the last one, a document is no text that can be saved
def test_after_any_edits_the_documents_show_what_a_check_finds(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if seed % 3 == 2:
        monkeypatch.setenv("PERFLINT_CACHE_DIR", str(tmp_path / "cache"))
    editor = Editor(tmp_path / "workspace", seed)
    for number in range(60):
        editor.act()
        if number % 12 == 11:
            assert editor.is_shown() == checked(editor, tmp_path / "mirror")
    assert editor.complaints == []
