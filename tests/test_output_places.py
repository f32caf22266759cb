"""How reports name files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from perflint.output.report import Places, repository, valid

posix = pytest.mark.skipif(os.name != "posix", reason="paths and links of POSIX")


@pytest.mark.parametrize("kind", ["directory", "file"])
def test_the_root_is_the_top_of_the_repository(tmp_path: Path, kind: str) -> None:
    start = tmp_path / "a" / "b"
    start.mkdir(parents=True)
    if kind == "directory":
        (tmp_path / ".git").mkdir()
    else:  # of a work tree
        (tmp_path / ".git").write_text("gitdir: /elsewhere\n")
    assert repository(start, Path("/other")) == str(tmp_path)


def test_the_innermost_repository_counts(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    inner = tmp_path / "vendored"
    (inner / ".git").mkdir(parents=True)
    assert repository(inner, tmp_path) == str(inner)


def test_outside_of_a_repository_the_root_is_what_else_is_given(tmp_path: Path) -> None:
    if repository(tmp_path, Path("/nowhere")) != "/nowhere":
        pytest.skip("the temporary directory is in a repository")
    assert repository(tmp_path / "a", tmp_path) == str(tmp_path)


@posix
def test_a_link_into_a_repository_leads_to_its_top(tmp_path: Path) -> None:
    real = tmp_path / "real"
    (real / "src").mkdir(parents=True)
    (real / ".git").mkdir()
    link = tmp_path / "link"
    link.symlink_to(real / "src")
    root = repository(link, tmp_path)
    assert root == str(real)
    assert Places(root).inside(str(link / "a.py")) == "src/a.py"


def test_paths_are_seen_from_the_root_wherever_perflint_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    places = Places(str(tmp_path))
    assert places.shown("a.py") == "sub/a.py"
    assert places.shown("./x/../a.py") == "sub/a.py"
    assert places.shown("../a.py") == "a.py"
    assert places.shown(str(tmp_path / "a.py")) == "a.py"
    assert places.shown("..") == "."
    assert places.shown("-") == "-"


@posix
def test_a_file_outside_of_the_root_keeps_its_whole_path(tmp_path: Path) -> None:
    places = Places(str(tmp_path / "root"))
    beside = str(tmp_path / "root2" / "a b.py")
    assert places.shown(beside) == beside
    assert places.uri(beside) == (f"file://{tmp_path}/root2/a%20b.py", False)


def test_the_root_of_all_files_will_do() -> None:
    root = Path.cwd().anchor
    assert Places(root).shown(str(Path(root, "a", "b.py"))) == "a/b.py"
    assert Places(root).root_uri.endswith("/")
    assert not Places(root).root_uri.endswith("////")


@posix
def test_uris_are_percent_encoded_byte_by_byte(tmp_path: Path) -> None:
    places = Places(str(tmp_path))
    name = os.fsdecode(b"a b/\xe6\x8d\x9f#?%:\xff.py")
    assert places.uri(str(tmp_path / name)) == ("a%20b/%E6%8D%9F%23%3F%25%3A%FF.py", True)
    assert places.root_uri == f"file://{tmp_path}/"


def test_what_no_encoding_holds_is_written_out() -> None:
    assert valid("\u635f\U0001f600\udcff.py") == "\u635f\U0001f600\\xff.py"
    assert valid("\ud800") == "\\ud800"
