"""Which lines git says have changed since a revision, in real repositories, and what it cannot say."""

from __future__ import annotations

from pathlib import Path

import pytest

from perflint.cli import main
from perflint.inputs.git import NEW, SAME, Changed, ChangedLines, GitError
from tests.cli_runs import Output, write
from tests.git_runs import commit, git, start
from tests.support import in_step

ROWS = "".join(f"row {number}\n" for number in range(1, 21))


@pytest.fixture(autouse=True)
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    start(tmp_path / "repository", monkeypatch)


def changed(name: str, revision: str = "HEAD") -> Changed:
    return ChangedLines(Path.cwd(), revision).of(name)


def edited(name: str, text: str) -> Changed:
    """The changes of a file that held ``ROWS`` and holds another text now."""
    Path(name).write_bytes(ROWS.encode())
    commit()
    Path(name).write_bytes(text.encode())
    return changed(name)


# --- which lines have changed


@pytest.mark.parametrize(
    ("text", "rows", "gaps"),
    [
        (ROWS, [], []),
        (ROWS.replace("row 3\n", "other\n"), [3], []),
        (ROWS.replace("row 3\n", "row 3\nnew\nnewer\n"), [4, 5], []),
        (ROWS.replace("row 3\nrow 4\n", ""), [], [3]),
        (ROWS.replace("row 1\n", "", 1), [], [1]),
        (ROWS.replace("row 20\n", ""), [], [20]),
        (ROWS.replace("row 20\n", "row 20"), [20], []),
        (ROWS.replace("row 20\n", "row 20\nrow 21"), [21], []),
        (
            ROWS.replace("row 5\n", "++ b/x\n").replace("row 6\n", "-- a/x\n@@ -1 +1 @@\ndiff --git a/y b/y\n"),
            [5, 6, 7, 8],
            [],
        ),
        (ROWS.replace("row 2\n", "a\n").replace("row 9\n", "").replace("row 15\n", "b\nc\n"), [2, 14, 15], [9]),
        ("", [], [1]),
    ],
)
def test_rows_of_an_edited_file(text: str, rows: list[int], gaps: list[int]) -> None:
    assert edited("a.py", text) == Changed(frozenset(rows), frozenset(gaps))


@pytest.mark.parametrize(
    "name", ["a b.py", 'qu"ote.py', "back\\slash.py", "tab\there.py", "損失.py", "sub/a.py", "b/a.py"]
)
def test_names_of_all_kinds(name: str) -> None:
    Path(name).parent.mkdir(exist_ok=True)
    assert edited(name, ROWS.replace("row 3\n", "other\n")) == Changed(frozenset([3]))


def test_staged_unstaged_and_committed_changes_count_alike() -> None:
    assert edited("a.py", ROWS.replace("row 3\n", "other\n")).rows == {3}
    git("add", "a.py")
    Path("a.py").write_text(Path("a.py").read_text().replace("row 5\n", "other\n"))
    assert changed("a.py").rows == {3, 5}
    commit()
    assert changed("a.py") == SAME
    assert changed("a.py", "HEAD~1").rows == {3, 5}
    assert not changed("a.py")


def test_files_that_git_does_not_keep_are_new() -> None:
    commit()
    write(added="x = 1\n", untracked="x = 1\n", ignored="x = 1\n", intended="x = 1\n")
    Path(".gitignore").write_text("ignored.py\n")
    git("add", "added.py")
    git("add", "-N", "intended.py")
    assert [changed(f"{name}.py") for name in ("added", "untracked", "ignored", "intended")] == [NEW] * 4


def test_a_renamed_file_is_not_new() -> None:
    write(a=ROWS)
    commit()
    git("mv", "a.py", "b.py")
    assert changed("b.py") == SAME
    Path("b.py").write_text(ROWS.replace("row 7\n", "other\n"))
    assert changed("b.py").rows == {7}
    Path("a.py").write_text("x = 1\n")
    assert changed("a.py").touches(1, 1)


def test_the_users_settings_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = "[diff]\n noprefix = true\n context = 7\n interHunkContext = 9\n external = false\n"
    settings += " renames = false\n relative = true\n"
    settings += " mnemonicPrefix = true\n[color]\n ui = always\n diff = always\n[core]\n quotePath = true\n"
    (tmp_path / "config").write_text(settings)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "config"))
    text = ROWS.replace("row 3\n", "other\n").replace("row 6\n", "other\n")
    Path("sub").mkdir()
    assert edited("sub/損 失.py", text).rows == {3, 6}
    monkeypatch.chdir("sub")
    assert changed("損 失.py").rows == {3, 6}


def test_a_submodule_is_compared_with_its_commit_of_then(tmp_path: Path) -> None:
    library = tmp_path / "library"
    library.mkdir()
    git("init", "-q", "-b", "main", at=str(library))
    (library / "a.py").write_text(ROWS)
    commit(at=str(library))
    git("submodule", "add", "-q", str(library), "sub")
    commit()
    assert changed("sub/a.py") == SAME
    Path("sub/a.py").write_text(ROWS.replace("row 3\n", "other\n"))
    assert changed("sub/a.py").rows == {3}
    commit(at="sub")
    assert changed("sub/a.py").rows == {3}
    commit()
    assert changed("sub/a.py") == SAME
    assert changed("sub/a.py", "HEAD~1").rows == {3}
    Path("inner").mkdir()
    git("init", "-q", at="inner")
    Path("inner/a.py").write_text(ROWS)
    assert changed("inner/a.py") == NEW


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        (1, 1, False),
        (1, 3, True),
        (3, 3, True),
        (4, 6, False),
        (5, 6, False),
        (7, 7, False),
        (6, 7, True),
        (7, 9, False),
    ],
)
def test_what_a_change_touches(first: int, last: int, expected: bool) -> None:
    # Row 3 is new, and something between the rows 6 and 7 is gone.
    assert Changed(frozenset([3]), frozenset([7])).touches(first, last) is expected


def test_changes_move_with_a_text() -> None:
    before = Changed(frozenset([3, 8]), frozenset([5]))
    assert before.moved(ROWS, ROWS) == before
    assert before.moved(ROWS, "new\n" + ROWS) == Changed(frozenset([1, 4, 9]), frozenset([6]))
    assert before.moved(ROWS, ROWS.replace("row 1\n", "", 1)) == Changed(frozenset([2, 7]), frozenset([1, 4]))
    assert before.moved(ROWS, ROWS.replace("row 8\n", "other\n")) == before
    assert NEW.moved(ROWS, "x") == NEW


# --- revisions


def test_three_dots_mean_where_the_branch_began() -> None:
    write(a=ROWS)
    commit()
    git("checkout", "-q", "-b", "topic")
    write(a=ROWS.replace("row 3\n", "topic\n"))
    commit()
    git("checkout", "-q", "main")
    write(a=ROWS.replace("row 9\n", "main\n"))
    commit()
    git("checkout", "-q", "topic")
    assert changed("a.py", "main...").rows == {3}
    assert changed("a.py", "main...HEAD").rows == {3}
    assert changed("a.py", "main").rows == {3, 9}


@pytest.mark.parametrize(
    ("revision", "words"),
    [
        ("gone", ["no revision 'gone'", "git fetch"]),
        ("gone...", ["no revision 'gone'"]),
        ("HEAD..main", ["'HEAD..main'", "HEAD..."]),
        ("HEAD...main", ["'HEAD...main'", "HEAD..."]),
        ("--output=x", ["no revision '--output=x'"]),
        ("HEAD:a.py", ["no revision"]),
        ("", ["no revision ''"]),
    ],
)
def test_a_revision_that_is_none_exits_2(revision: str, words: list[str], capsys: Output) -> None:
    write(a="x = 1\n")
    commit()
    assert main(["check", f"--changed-since={revision}"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"perflint: --changed-since {revision}: ")
    assert err.count("\n") == 1
    for word in words:
        assert word in err


def test_a_shallow_clone_is_told_what_to_fetch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output) -> None:
    for text in ("x = 1\n", "x = 2\n"):
        write(a=text)
        commit()
    git("branch", "old", "HEAD~1")
    git("clone", "-q", "--depth=1", "--no-single-branch", f"file://{Path.cwd()}", str(tmp_path / "clone"))
    monkeypatch.chdir(tmp_path / "clone")
    assert main(["check", "--changed-since", "HEAD~1"]) == 2
    assert "git fetch --unshallow" in capsys.readouterr().err
    assert main(["check", "--changed-since", "origin/old..."]) == 2
    assert "share no commit in this clone; this clone is shallow" in capsys.readouterr().err
    assert main(["check", "--changed-since", "origin/old"]) == 0


def test_what_git_cannot_answer_exits_2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output) -> None:
    write(a="x = 1\n")
    assert main(["check", "--changed-since", "HEAD"]) == 2
    assert "there is no commit yet" in capsys.readouterr().err
    commit()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/b.py").write_text(in_step("total += loss.item()\n"))
    assert main(["check", "--changed-since", "HEAD", str(tmp_path / "elsewhere")]) == 2
    assert "is in no git repository" in capsys.readouterr().err
    with pytest.raises(GitError, match=r"b\.py is not in .*repository: check the files of one repository"):
        changed(str(tmp_path / "elsewhere/b.py"))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["check", "--changed-since", "HEAD"]) == 2
    assert "install git" in capsys.readouterr().err


def test_a_hook_of_another_repository_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert edited("a.py", ROWS.replace("row 3\n", "other\n")).rows == {3}
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "nowhere/index"))
    assert changed("a.py").rows == {3}
