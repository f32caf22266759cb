"""A file that is checked alone is read with what it imports from its own project."""

from __future__ import annotations

from pathlib import Path

import pytest

from perflint import cli
from perflint.inputs.projects import imported_files, imported_modules

FILES = {
    "README.md": "A project.\n",
    "tools/train.py": "import paddle, sys\nimport nets.small as small\nfrom data import (\n    images,\n    flip,\n)\n",
    "nets/__init__.py": "from . import blocks\n",
    "nets/small.py": "from .blocks import Block\nfrom ..data.images import Images\nfrom ....far import away\n",
    "nets/blocks.py": "import nets.small\n",
    "nets/unused.py": "",
    "data/images.py": "def broken(:\n",
    "tools/images.py": "",
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with tools beside its packages, as the current directory."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import a.b, c as d\n", [(0, "a.b"), (0, "c")]),
        ("from a import b as c, d\n", [(0, "a"), (0, "a.b"), (0, "a.d")]),
        ("from .. import (\n    b,\n    c,\n)\n", [(2, ""), (2, "b"), (2, "c")]),
        ("from .a.b import *\n", [(1, "a.b")]),
        ("# from a import b\nimportant = 1\n", []),
    ],
)
def test_modules_that_a_text_imports(text: str, expected: list[tuple[int, str]]) -> None:
    assert [*imported_modules(text)] == expected


@pytest.mark.usefixtures("project")
def test_imports_are_followed_to_the_top_of_the_project_and_no_further() -> None:
    found = {str(path.resolve().relative_to(Path.cwd())) for path in imported_files([Path("tools/train.py")], Path())}
    assert found == {"nets/__init__.py", "nets/small.py", "nets/blocks.py", "data/images.py"}


def test_they_are_named_as_seen_from_here(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert Path("nets/small.py") in imported_files([Path("nets/blocks.py")], Path())
    monkeypatch.chdir(project / "tools")
    assert Path("../nets/small.py") in imported_files([Path("train.py")], project)


def test_a_file_outside_of_any_project_sees_its_own_directory(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "other.py").touch()
    for name in ("train.py", "helpers.py"):
        (tmp_path / "one" / name).write_text("import helpers, other\n")
    found = imported_files([tmp_path / "one" / "train.py"], tmp_path / "one")
    assert found == [tmp_path / "one" / "helpers.py"]


def test_a_file_that_is_gone_imports_nothing(tmp_path: Path) -> None:
    assert imported_files([tmp_path / "gone.py"], tmp_path) == []


TRAIN = """\
import paddle
from flowers import Flowers


def train(model, optimizer):
    loader = paddle.io.DataLoader(Flowers("photos.txt"), batch_size=8, shuffle=True)
    for x, y in loader:
        loss = paddle.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()


train(paddle.vision.models.resnet18(), None)
"""
DATASET = """\
import paddle


class Flowers(paddle.io.Dataset):
    def __init__(self, names):
        self.names = open(names).readlines()

    def __getitem__(self, index):
        return paddle.to_tensor(open(self.names[index]).read()), 1

    def __len__(self):
        return len(self.names)
"""


@pytest.mark.usefixtures("real_workplace")
def test_a_check_of_one_file_says_of_it_what_a_check_of_all_says(capsys: pytest.CaptureFixture[str]) -> None:
    def found(*arguments: str) -> list[str]:
        cli.main(["check", "--select", "PPF101", "--output-format", "concise", *arguments])
        return [row for row in capsys.readouterr().out.splitlines() if row.startswith("train.py")]

    Path("train.py").write_text(TRAIN)
    Path("flowers.py").write_text(DATASET)
    (alone,) = found("train.py")
    assert "since workers can crash on Paddle tensors (`paddle.to_tensor` at flowers.py:9)" in alone
    assert found(".") == [alone]
    (unaware,) = found("train.py", "--no-context")
    assert "give it num_workers=4" in unaware
