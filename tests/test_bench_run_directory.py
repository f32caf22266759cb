"""The copy of a project that ``perflint bench`` runs in."""

from __future__ import annotations

from pathlib import Path

import pytest

from perflint.bench import run_directory
from perflint.bench.run_directory import SMALL, ProjectCopy

BIG = b"#" * SMALL


def tree(root: Path, **files: bytes) -> Path:
    for place, data in files.items():
        path = root / place.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return root


def made(project: ProjectCopy, target: Path, changed: dict[Path, bytes] | None = None) -> set[str]:
    """The files of a copy; links end with ``@``, and are not followed."""
    project.make(target, changed or {})
    found, todo = set(), [target]
    while todo:
        for path in todo.pop().iterdir():
            if path.is_dir() and not path.is_symlink():
                todo.append(path)
            else:
                found.add(path.relative_to(target).as_posix() + ("@" if path.is_symlink() else ""))
    return found


def test_a_project_within_the_budget_is_copied_whole(tmp_path: Path) -> None:
    root = tree(tmp_path / "root", a__b_py=b"x", data_npy=BIG, small_txt=b"")
    (root / ".git").mkdir()
    (root / ".git" / "config").write_bytes(b"")
    (root / "__pycache__").mkdir()
    (root / "data.npy").chmod(0o444)
    project = ProjectCopy(root)
    assert made(project, tmp_path / "copy", {Path("a/b.py"): b"changed"}) == {"a/b.py", "data.npy", "small.txt"}
    assert project.linked == []
    assert (tmp_path / "copy" / "a" / "b.py").read_bytes() == b"changed"
    assert (root / "a" / "b.py").read_bytes() == b"x"
    (tmp_path / "copy" / "data.npy").write_bytes(b"")  # the script may, whatever the mode was
    assert (root / "data.npy").read_bytes() == BIG


def test_the_data_of_a_large_project_are_linked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_directory, "BUDGET", 3 * SMALL)
    monkeypatch.setattr(run_directory, "MANY", 3)
    root = tree(
        tmp_path / "root", a_py=BIG, b_npy=BIG, c_txt=b"", d__1_jpg=b"", d__2_jpg=b"", d__3_jpg=b"", e__1_py=b""
    )
    project = ProjectCopy(root)
    assert made(project, tmp_path / "copy") == {"a.py", "b.npy@", "c.txt", "d@", "e/1.py"}
    assert project.linked == ["b.npy", "d/"]


def test_a_file_that_is_written_through_its_link_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_directory, "BUDGET", 0)
    project = ProjectCopy(tree(tmp_path / "root", a_npy=BIG, b_npy=BIG))
    project.make(tmp_path / "copy", {})
    assert project.written() == []
    (tmp_path / "copy" / "a.npy").write_bytes(b"")
    assert project.written() == ["a.npy"]


def test_links_within_the_project_lead_to_the_copy(tmp_path: Path) -> None:
    root = tree(tmp_path / "root", package__a_py=b"x", data__1_txt=b"")
    outside = tree(tmp_path / "outside", b_txt=b"")
    (root / "tools").mkdir()
    (root / "tools" / "package").symlink_to(root / "package")
    (root / "tools" / "far").symlink_to(outside)
    (root / "gone").symlink_to(root / "nothing")
    (root / "linked.py").symlink_to(root / "package" / "a.py")
    project, copy = ProjectCopy(root), tmp_path / "copy"
    found = made(project, copy, {Path("package/a.py"): b"changed"})
    assert found == {"package/a.py", "data/1.txt", "tools/package@", "tools/far@", "gone@", "linked.py"}
    assert (copy / "tools" / "package" / "a.py").read_bytes() == b"changed"
    assert (copy / "tools" / "far").resolve() == outside
    assert project.linked == ["tools/far/"]
