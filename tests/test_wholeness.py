"""Whether a run reads whole projects: the outermost directory that looks like one has to be below what is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from perflint.inputs.projects import is_whole


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with a repository (``repo/lib`` has a README of its own), loose files, and a place outside of it."""
    home = tmp_path / "home"
    for place in ("repo/.git", "repo/lib/inner", "repo/tools", "loose/sub"):
        (home / place).mkdir(parents=True)
    for name in ("repo/train.py", "repo/lib/README.md", "repo/lib/a.py", "loose/a.py", "README.md"):
        (home / name).touch()
    monkeypatch.setattr(Path, "home", lambda: home)
    monkeypatch.chdir(home)
    return home


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        (["repo"], True),
        (["."], True),
        (["repo/.."], True),
        (["repo", "loose"], True),
        (["repo/lib/a.py", "repo"], True),
        (["repo/train.py"], False),
        # What stands in repo/tools may call what is below repo/lib.
        (["repo/lib"], False),
        (["repo/lib/inner"], False),
        (["repo/lib", "repo/tools", "repo/train.py"], False),
        (["repo", "loose/a.py"], False),
        # The README in the home directory does not make one project of all that is there.
        (["loose"], True),
        (["loose/sub"], True),
    ],
)
def test_what_is_whole(paths: list[str], expected: bool, tree: Path) -> None:
    assert is_whole([Path(path) for path in paths], tree / "elsewhere") is expected


def test_the_directory_of_the_configuration_is_a_project(tree: Path) -> None:
    assert is_whole([Path("loose")], tree / "loose")
    assert not is_whole([Path("loose/sub")], tree / "loose")


def test_links_are_followed(tree: Path) -> None:
    (tree / "link").symlink_to("repo")
    (tree / "part").symlink_to("repo/lib")
    assert is_whole([Path("link")], tree)
    assert not is_whole([Path("part")], tree)


def test_a_process_without_a_home(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> Path:
        raise RuntimeError("no home")

    monkeypatch.setattr(Path, "home", none)
    assert not is_whole([Path("repo/lib")], tree / "repo")
