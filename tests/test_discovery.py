from __future__ import annotations

import errno
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from perflint.configuration.config_files import DEFAULT_EXCLUDE
from perflint.configuration.settings import Settings
from perflint.files import plain_files
from perflint.run.discovery import NoSuchPath, python_files


def plant(root: Path, *files: str) -> None:
    """Empty files by path below ``root``; a path that ends in ``/`` is an empty directory."""
    for name in files:
        path = root / name
        if name.endswith("/"):
            path.mkdir(parents=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("")


def write(path: Path, *lines: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def found(root: Path, *paths: str, exclude: Sequence[str] = (), gitignore: bool = True, force: bool = False) -> str:
    """The files found, relative to ``root`` and one blank apart; there must be no problems."""
    settings = Settings(join_lines=False, root=root, exclude=tuple(exclude), respect_gitignore=gitignore)
    result = python_files([root / path for path in paths or (".",)], settings, force_exclude=force)
    assert result.problems == []
    return " ".join(path.relative_to(root).as_posix() for path in result.files)


# --- what is taken


def test_directories_are_searched_for_py_files(tmp_path: Path) -> None:
    plant(
        tmp_path, "b.py", "a.py", "a.pyi", "a.pyc", "py", "sub/c.py", "sub/deep/d.py", "sub/notes.txt", ".hidden/e.py"
    )
    assert found(tmp_path) == ".hidden/e.py a.py b.py sub/c.py sub/deep/d.py"
    assert found(tmp_path, "sub") == "sub/c.py sub/deep/d.py"


def test_an_empty_directory_has_no_files(tmp_path: Path) -> None:
    assert found(tmp_path) == ""


def test_files_named_are_taken_whatever_they_are(tmp_path: Path) -> None:
    plant(tmp_path, "train", "build/a.py", "ignored.py")
    write(tmp_path / ".gitignore", "ignored.py")
    assert found(tmp_path, "train", "build/a.py", "ignored.py", exclude=["build"]) == "build/a.py ignored.py train"


def test_force_exclude_drops_named_paths(tmp_path: Path) -> None:
    plant(tmp_path, "a.py", "build/a.py", "build/deep/b.py", "gen_c.py")
    paths = ("a.py", "build/a.py", "build/deep", "gen_c.py")
    assert found(tmp_path, *paths, exclude=["build", "gen_*"]) == "a.py build/a.py build/deep/b.py gen_c.py"
    assert found(tmp_path, *paths, exclude=["build", "gen_*"], force=True) == "a.py"
    assert found(tmp_path, "build", exclude=["build/"], force=True) == ""


def test_a_path_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    plant(tmp_path, "a.py")
    with pytest.raises(NoSuchPath, match=r"none\.py does not exist"):
        found(tmp_path, "a.py", "none.py")
    (tmp_path / "broken.py").symlink_to(tmp_path / "gone.py")
    with pytest.raises(NoSuchPath, match=r"broken\.py is a link that leads nowhere \(to .*gone\.py\)"):
        found(tmp_path, "broken.py")
    (tmp_path / "self").symlink_to("self")
    with pytest.raises(NoSuchPath, match="leads nowhere"):
        found(tmp_path, "self")


def test_paths_are_spelled_from_where_the_search_began(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(tmp_path, "pkg/a.py", "b.py")
    monkeypatch.chdir(tmp_path / "pkg")
    settings = Settings(join_lines=False, root=tmp_path)
    assert python_files([Path()], settings).files == [Path("a.py")]
    assert python_files([Path("..")], settings).files == [Path("../b.py"), Path("../pkg/a.py")]
    assert python_files([tmp_path], settings).files == [tmp_path / "b.py", tmp_path / "pkg" / "a.py"]
    assert python_files([Path("../pkg/")], settings).files == [Path("../pkg/a.py")]


def test_a_file_reached_twice_is_listed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(tmp_path, "pkg/a.py", "b.py")
    monkeypatch.chdir(tmp_path)
    paths = [Path("pkg/a.py"), Path(), tmp_path, Path("pkg/../pkg"), Path("b.py")]
    assert python_files(paths, Settings(join_lines=False, root=tmp_path)).files == [Path("b.py"), Path("pkg/a.py")]


# --- links


def test_links_to_directories_are_not_followed(tmp_path: Path) -> None:
    plant(tmp_path, "pkg/a.py", "elsewhere/b.py")
    (tmp_path / "pkg" / "loop").symlink_to(tmp_path / "pkg")
    (tmp_path / "pkg" / "up.py").symlink_to("..")
    assert found(tmp_path, "pkg") == "pkg/a.py"
    (tmp_path / "link").symlink_to("elsewhere")
    assert found(tmp_path) == "elsewhere/b.py pkg/a.py"
    # One that is named is another matter.
    assert found(tmp_path, "link") == "link/b.py"


def test_links_to_files_are_taken_once_under_their_own_name(tmp_path: Path) -> None:
    plant(tmp_path, "pkg/z.py", "other/out.py")
    (tmp_path / "pkg" / "a.py").symlink_to("z.py")
    (tmp_path / "pkg" / "b.py").symlink_to("../other/out.py")
    assert found(tmp_path, "pkg") == "pkg/b.py pkg/z.py"
    assert found(tmp_path, "pkg/a.py", "pkg") == "pkg/b.py pkg/z.py"
    assert found(tmp_path, "pkg/a.py") == "pkg/a.py"


def test_links_to_nothing_are_passed_over(tmp_path: Path) -> None:
    plant(tmp_path, "a.py")
    (tmp_path / ".#a.py").symlink_to("me@host.1234")
    (tmp_path / "self.py").symlink_to("self.py")
    assert found(tmp_path) == "a.py"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_what_is_no_file_is_passed_over(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    plant(tmp_path, "dir.py/a.py")
    assert found(tmp_path) == "dir.py/a.py"


# --- problems


def test_a_directory_that_cannot_be_read_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(tmp_path, "a.py", "locked/b.py", "open/c.py")
    scan = os.scandir

    def refuse(
        path: str,
    ) -> AbstractContextManager[Iterator[os.DirEntry[str]]]:  # permissions do not stop root, who may run the tests
        if path.rstrip("/").endswith("locked"):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return scan(path)

    monkeypatch.setattr(os, "scandir", refuse)
    result = python_files([tmp_path], Settings(join_lines=False, root=tmp_path))
    assert result.files == [tmp_path / "a.py", tmp_path / "open" / "c.py"]
    assert [problem.path for problem in result.problems] == [str(tmp_path / "locked")]
    assert result.problems[0].message == f"{tmp_path / 'locked'} cannot be read: Permission denied"


def test_a_gitignore_that_cannot_be_read_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(tmp_path, "a.py", ".gitignore")
    read = plain_files.read

    def refuse(path: Path) -> bytes:
        if path.name == ".gitignore":
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return read(path)

    monkeypatch.setattr(plain_files, "read", refuse)
    result = python_files([tmp_path], Settings(join_lines=False, root=tmp_path))
    assert result.files == [tmp_path / "a.py"]
    assert [problem.message for problem in result.problems] == [
        f"{tmp_path / '.gitignore'} cannot be read: Permission denied"
    ]


def test_a_gitignore_that_is_a_directory_is_none(tmp_path: Path) -> None:
    plant(tmp_path, "a.py", ".gitignore/", ".git/info/")
    assert found(tmp_path) == "a.py"


# --- exclude


def test_exclude_patterns_are_seen_from_the_root(tmp_path: Path) -> None:
    plant(tmp_path, "a.py", "gen/a.py", "pkg/gen/a.py", "pkg/a_pb2.py", "pkg/tools/x.py", "tools/x.py", "gen.py")
    assert found(tmp_path, exclude=["gen"]) == "a.py gen.py pkg/a_pb2.py pkg/tools/x.py tools/x.py"
    assert found(tmp_path, exclude=["/gen", "*_pb2.py"]) == "a.py gen.py pkg/gen/a.py pkg/tools/x.py tools/x.py"
    assert found(tmp_path, exclude=["pkg/*/x.py", "gen/"]) == "a.py gen.py pkg/a_pb2.py tools/x.py"
    assert found(tmp_path, exclude=["pkg/**"]) == "a.py gen.py gen/a.py tools/x.py"
    assert found(tmp_path, "pkg", exclude=["pkg/tools"]) == "pkg/a_pb2.py pkg/gen/a.py"
    assert found(tmp_path, exclude=["*.py", "!a.py"]) == "a.py gen/a.py pkg/gen/a.py"


def test_extend_exclude_adds(tmp_path: Path) -> None:
    plant(tmp_path, "a.py", "b/b.py", "c/c.py")
    settings = Settings(join_lines=False, root=tmp_path, exclude=("b",), extend_exclude=("c",))
    assert python_files([tmp_path], settings).files == [tmp_path / "a.py"]


def test_default_exclude(tmp_path: Path) -> None:
    plant(
        tmp_path, "a.py", ".venv/lib/python3.12/site-packages/x.py", "venv/y.py", "node_modules/z.py", "build/lib/a.py"
    )
    plant(tmp_path, "pkg/__pycache__/a.py", ".ipynb_checkpoints/n.py", "builder/b.py", "pkg/build.py")
    assert found(tmp_path, exclude=DEFAULT_EXCLUDE) == "a.py builder/b.py pkg/build.py"


def test_an_excluded_directory_that_is_named_is_searched(tmp_path: Path) -> None:
    package = "venv/lib/site-packages/ppdet"
    plant(tmp_path, f"{package}/a.py", f"{package}/build/b.py", f"{package}/core/c.py", "venv/other.py")
    assert found(tmp_path, package, exclude=DEFAULT_EXCLUDE) == f"{package}/a.py {package}/core/c.py"
    write(tmp_path / ".gitignore", "venv/", "core/")
    assert found(tmp_path, package, exclude=DEFAULT_EXCLUDE) == f"{package}/a.py {package}/core/c.py"
    plant(tmp_path, ".git/")
    assert found(tmp_path, package, exclude=DEFAULT_EXCLUDE) == f"{package}/a.py"


def test_exclude_holds_by_name_outside_the_root(tmp_path: Path) -> None:
    plant(tmp_path, "project/", "other/a.py", "other/build/b.py")
    settings = Settings(join_lines=False, root=tmp_path / "project", exclude=("build", "/other"))
    assert python_files([tmp_path / "other"], settings).files == [tmp_path / "other" / "a.py"]


# --- git's ignore files


def test_gitignore_files_of_every_level_hold(tmp_path: Path) -> None:
    plant(
        tmp_path, ".git/", "a.py", "out/a.py", "pkg/out/a.py", "pkg/gen.py", "pkg/keep.py", "pkg/sub/gen.py", "gen.py"
    )
    write(tmp_path / ".gitignore", "# build products", "", "/out/")
    write(tmp_path / "pkg" / ".gitignore", "gen.py")
    assert found(tmp_path) == "a.py gen.py pkg/keep.py pkg/out/a.py"
    assert found(tmp_path, gitignore=False).split() == [
        "a.py", "gen.py", "out/a.py", "pkg/gen.py", "pkg/keep.py", "pkg/out/a.py", "pkg/sub/gen.py",
    ]  # fmt: skip


def test_gitignore_takes_back(tmp_path: Path) -> None:
    plant(tmp_path, "a.py", "keep.py", "pkg/b.py", "pkg/keep.py", "logs/keep.py", "pkg/logs/keep.py")
    write(tmp_path / ".gitignore", "*.py", "!keep.py", "logs")
    # A file in an ignored directory cannot be taken back, a directory can, by a file that is nearer.
    assert found(tmp_path) == "keep.py pkg/keep.py"
    write(tmp_path / "pkg" / ".gitignore", "!logs", "!b.py")
    assert found(tmp_path) == "keep.py pkg/b.py pkg/keep.py pkg/logs/keep.py"


def test_a_directory_taken_back_keeps_its_parents_patterns(tmp_path: Path) -> None:
    plant(tmp_path, "pkg/data/a.py", "pkg/data/gen_b.py")
    write(tmp_path / ".gitignore", "data", "gen_*")
    write(tmp_path / "pkg" / ".gitignore", "!data")
    assert found(tmp_path) == "pkg/data/a.py"


def test_only_what_is_listed(tmp_path: Path) -> None:
    plant(tmp_path, "a.py", "data/a.py", "data/deep/b.py", "data/deep/c.py")
    write(tmp_path / ".gitignore", "data/**", "!data/**/", "!data/**/b.py")
    assert found(tmp_path) == "a.py data/deep/b.py"
    write(tmp_path / ".gitignore", "*", "!*/", "!b.py")
    assert found(tmp_path) == "data/deep/b.py"


def test_gitignore_of_directories_above_hold_up_to_the_repository(tmp_path: Path) -> None:
    plant(tmp_path, "repo/.git/", "repo/pkg/sub/a.py", "repo/pkg/sub/b.py", "repo/pkg/sub/c.py", "repo/pkg/sub/d.py")
    write(tmp_path / ".gitignore", "a.py")
    write(tmp_path / "repo" / ".gitignore", "pkg/sub/b.py", "d.py")
    write(tmp_path / "repo" / "pkg" / ".gitignore", "sub/c.py", "!d.py")
    assert found(tmp_path, "repo/pkg/sub") == "repo/pkg/sub/a.py repo/pkg/sub/d.py"


def test_without_a_repository_only_the_search_itself_counts(tmp_path: Path) -> None:
    plant(tmp_path, "pkg/a.py", "pkg/b.py")
    write(tmp_path / ".gitignore", "a.py")
    write(tmp_path / "pkg" / ".gitignore", "b.py")
    assert found(tmp_path, "pkg") == "pkg/a.py"
    assert found(tmp_path) == ""


def test_a_repository_inside_another_starts_afresh(tmp_path: Path) -> None:
    plant(tmp_path, ".git/", "gen.py", "vendored/.git/", "vendored/gen.py", "vendored/own.py", "vendored/deep/gen.py")
    write(tmp_path / ".gitignore", "gen.py")
    write(tmp_path / "vendored" / ".gitignore", "own.py")
    assert found(tmp_path) == "vendored/deep/gen.py vendored/gen.py"
    assert found(tmp_path, "vendored/deep") == "vendored/deep/gen.py"


def test_info_exclude_is_weaker_than_gitignore(tmp_path: Path) -> None:
    plant(tmp_path, "a.py", "b.py", "pkg/a.py")
    write(tmp_path / ".git" / "info" / "exclude", "a.py", "b.py")
    write(tmp_path / ".gitignore", "!b.py")
    assert found(tmp_path) == "b.py"
    assert found(tmp_path, "pkg") == ""


def test_info_exclude_of_a_work_tree_and_of_a_submodule(tmp_path: Path) -> None:
    plant(tmp_path, "tree/a.py", "tree/b.py", "sub/a.py", "sub/b.py")
    write(tmp_path / "main" / ".git" / "info" / "exclude", "a.py")
    write(tmp_path / "main" / ".git" / "worktrees" / "tree" / "commondir", "../..")
    write(tmp_path / "tree" / ".git", f"gitdir: {tmp_path / 'main' / '.git' / 'worktrees' / 'tree'}")
    write(tmp_path / "main" / ".git" / "modules" / "sub" / "info" / "exclude", "b.py")
    write(tmp_path / "sub" / ".git", "gitdir: ../main/.git/modules/sub")
    assert found(tmp_path, "tree") == "tree/b.py"
    assert found(tmp_path, "sub") == "sub/a.py"


def test_a_gitignore_from_windows(tmp_path: Path) -> None:
    plant(tmp_path, "a.py", "b.py", "模型.py", "keep.py")
    (tmp_path / ".gitignore").write_bytes("\ufeffa.py\r\nb.py \r\n模型.py\r\n".encode())
    assert found(tmp_path) == "keep.py"


def test_a_gitignore_in_another_encoding(tmp_path: Path) -> None:
    plant(tmp_path, "a.py", "keep.py")
    (tmp_path / ".gitignore").write_bytes("# 训练\na.py\n训练.py\n".encode("gbk"))
    assert found(tmp_path) == "keep.py"


def test_lines_that_are_no_pattern_are_passed_over(tmp_path: Path) -> None:
    plant(tmp_path, "a.py", "b.py")
    write(tmp_path / ".gitignore", "!", "//", "[", "\\", "/", "   ", "a.py")
    assert found(tmp_path) == "b.py"


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_git_lists_the_same_files(tmp_path: Path) -> None:
    names = ("a.py", "b.py", "build.py", "[x].py", "#c.py", "sp ace.py")
    for directory in ("", "build", "build/deep", "src", "src/build", "src/deep/lib", "lib", "lib/src", "a.py.d"):
        plant(tmp_path, *(f"{directory}/{name}" if directory else name for name in names))
    write(
        tmp_path / ".gitignore", "build/", "!/src/build", "/lib/*.py", "\\#c.py", "sp*ce.py", "**/deep/b.py", "a.py.d/*"
    )
    write(tmp_path / "src" / ".gitignore", "[ab].py", "!deep/**/a.py", "\\[x\\].py", "lib/?.py")
    write(tmp_path / "lib" / ".gitignore", "!a.py", "src/**", "!src/build.py")
    write(tmp_path / "src" / "deep" / ".gitignore", "!*.py", "/lib/b*", "!lib/build.py")
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    for start in (".", "src", "lib", "src/deep"):
        command = ["git", "-c", "core.excludesFile=", "ls-files", "-z", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=tmp_path / start, check=True, capture_output=True, text=True).stdout
        expected = sorted((tmp_path / start / name).relative_to(tmp_path).as_posix() for name in listed.split("\0"))
        expected = [name for name in expected if name.endswith(".py")]
        assert len(expected) >= 2
        assert python_files([tmp_path / start], Settings(join_lines=False, root=tmp_path)).files == [
            tmp_path / name for name in expected
        ]
