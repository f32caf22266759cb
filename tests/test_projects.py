"""Which files of a run belong together."""

from __future__ import annotations

from pathlib import Path

import pytest

from perflint.inputs.projects import split
from tests.support import sources


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory as the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def projects(files: dict[str, str]) -> list[list[str]]:
    return [sorted(project) for project in split(sources(files)).projects]


def test_no_files_are_no_project() -> None:
    assert projects({}) == []


def test_directories_that_know_nothing_of_each_other_are_projects_each() -> None:
    assert projects({"a/x.py": "", "b/y.py": "import numpy", "b/c/z.py": "import y"}) == [
        ["a/x.py"],
        ["b/c/z.py", "b/y.py"],
    ]


@pytest.mark.parametrize(
    "text",
    [
        "import b",
        "import b.y as other",
        "import numpy, b.y",
        "from b import y",
        "from b.y import *",
        "if True:\n    from b import y",
        "from .. import (\n    a,\n    b,\n)",
        "from ..b import y",
        "import y",
    ],
)
def test_one_that_imports_from_another_is_one_with_it(text: str) -> None:
    files = {"a/x.py": text, "b/y.py": "", "c/z.py": "", "y.py": ""}
    joined = ["a/x.py", "y.py"] if text == "import y" else ["a/x.py", "b/y.py"]
    assert joined in projects(files)
    assert ["c/z.py"] in projects(files)


@pytest.mark.parametrize("added", ["'b'", '"./b"', "os.path.join(here, 'b')", "'b/'"])
def test_one_that_finds_modules_in_another_is_one_with_it(added: str) -> None:
    files = {"a/x.py": f"import sys\nsys.path.append({added})\nimport y", "b/y.py": "", "c/z.py": ""}
    assert projects(files) == [["a/x.py", "b/y.py"], ["c/z.py"]]
    assert len(projects({**files, "a/x.py": f"paths.append({added})\nimport y"})) == 3


@pytest.mark.parametrize("mark", ["README.md", "setup.py", ".git", "requirements.txt"])
def test_what_stands_in_the_root_of_a_project_holds_it_together(mark: str) -> None:
    files = {"tools/train.py": "", "models/net.py": ""}
    assert len(projects(files)) == 2
    Path(mark).touch()
    assert len(projects(files)) == 1


def test_a_mark_deeper_down_holds_what_is_there() -> None:
    files = {"one/a/x.py": "", "one/b/y.py": "", "two/a/x.py": "", "two/b/y.py": ""}
    Path("one").mkdir()
    Path("one/README.md").touch()
    assert projects(files) == [["one/a/x.py", "one/b/y.py"], ["two/a/x.py"], ["two/b/y.py"]]


def test_a_package_that_is_given_alone_is_one_project() -> None:
    assert len(projects({"net/__init__.py": "", "net/a/__init__.py": "", "net/b/__init__.py": ""})) == 1


def test_paths_may_be_spelled_in_any_way() -> None:
    assert projects({"./a/x.py": "", "b/../b/y.py": "import x", str(Path("b/z.py").absolute()): ""}) == [
        ["./a/x.py"],
        sorted(["b/../b/y.py", str(Path("b/z.py").absolute())]),
    ]
