"""``--changed-since REV``: the findings that the changes since a revision have to do with."""

from __future__ import annotations

from pathlib import Path

import pytest

from perflint.cli import main
from tests.cli_runs import Output, pipe, write
from tests.git_runs import commit, git, start
from tests.support import in_step

SUM = "total += loss.item()\n"
PRINT = "print(loss.item())\n"


@pytest.fixture(autouse=True)
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    start(tmp_path / "repository", monkeypatch)


def shown(capsys: Output, *arguments: str, since: str = "HEAD") -> list[str]:
    """Path, row and code of each finding that is shown."""
    main(["check", "-q", "--output-format", "concise", "--changed-since", since, *arguments])
    lines = capsys.readouterr().out.splitlines()
    return [f"{path}:{row} {rest.split(' ')[1]}" for path, row, _, rest in (line.split(":", 3) for line in lines)]


def test_findings_on_changed_lines_are_shown_and_the_others_counted(capsys: Output) -> None:
    write(train=in_step(SUM + PRINT), other=in_step(PRINT))
    commit()
    assert main(["check", "--changed-since", "HEAD"]) == 0
    closing = "No findings in 2 files. 3 more are not on lines changed since HEAD.\n"
    assert capsys.readouterr() == (closing, "")
    write(train=in_step("# new\n" + SUM + PRINT.replace("print(", "print(step, ")))
    assert shown(capsys) == ["train.py:14 PPF202"]
    assert main(["check", "--changed-since", "HEAD", "--statistics"]) == 1
    assert "PPF201" not in capsys.readouterr().out


CALL = "print(\n    'loss',\n    loss.item(),\n    step,\n)\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (CALL.replace("step", "0"), CALL),
        (CALL.replace("    step,\n", "    step,\n    0,\n"), CALL),
        (
            "if step > 3:\n    total += (\n        0 +\n        loss.item()\n    )\n",
            "if step > 3:\n    total += (\n        1 +\n        loss.item()\n    )\n",
        ),
    ],
    ids=["another argument", "an argument is gone", "the statement"],
)
def test_a_change_anywhere_in_the_statement_counts(before: str, after: str, capsys: Output) -> None:
    write(train=in_step(before))
    commit()
    write(train=in_step(after))
    assert len(shown(capsys)) == 1


def test_rows_around_a_finding_are_not_part_of_it(capsys: Output) -> None:
    write(train=in_step("x = 1\ny = 1\n" + SUM + "z = 1\nw = 1\n"))
    commit()
    write(train=in_step("x = 1\n" + SUM + "z = 2\n"))
    assert shown(capsys) == []


def test_what_a_new_loop_or_call_makes_costly_is_shown(capsys: Output) -> None:
    helper = "import paddle\n\n\ndef log(loss):\n    return loss.item()\n"
    quiet = in_step("pass\n").replace("import numpy", "from helper import log\nimport numpy")
    write(helper=helper, train=quiet)
    commit()
    assert shown(capsys) == []
    write(train=quiet.replace("        pass\n", "        log(loss)\n"))
    assert "helper.py:5 PPF201" in shown(capsys)
    commit()
    # The loop over the batches is new; the call was there.
    assert shown(capsys) == []
    write(train=Path("train.py").read_text().replace("enumerate(loader)", "enumerate(loader, 1)"))
    assert "helper.py:5 PPF201" in shown(capsys)


def test_a_new_file_and_a_renamed_one(capsys: Output) -> None:
    write(old=in_step(SUM))
    commit()
    git("mv", "old.py", "moved.py")
    write(new=in_step(SUM))
    assert shown(capsys) == ["new.py:12 PPF201"]


def test_from_a_directory_below_and_with_whole_paths(capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("sub").mkdir()
    Path("sub/a.py").write_text(in_step("x = 1\n" + PRINT))
    commit()
    Path("sub/a.py").write_text(in_step("x = 1\n" + PRINT + SUM))
    monkeypatch.chdir("sub")
    assert shown(capsys) == ["a.py:14 PPF201"]
    assert shown(capsys, "..") == ["../sub/a.py:14 PPF201"]
    whole = str(Path("a.py").resolve())
    assert shown(capsys, whole) == [f"{whole}:14 PPF201"]


@pytest.mark.parametrize("newline", ["\r\n", "\r"])
def test_other_line_ends(newline: str, capsys: Output) -> None:
    git("config", "core.autocrlf", "false")
    text = in_step("x = 1\n" + PRINT + SUM).replace("\n", newline)
    write(a=text)
    commit()
    write(a=text.replace("total +=", "all +="))
    # git takes a file without a line feed for one line.
    assert shown(capsys) == (["a.py:13 PPF202", "a.py:14 PPF201"] if newline == "\r" else ["a.py:14 PPF201"])


def test_a_file_that_no_longer_parses_is_shown_if_it_was_changed(capsys: Output) -> None:
    write(a="x = 1\ny = (\n", b="x = (\n")
    commit()
    write(a="x = 2\ny = (\n")
    assert shown(capsys) == ["a.py:2 PPF001"]
    Path("c.py").write_bytes(b"\0")
    assert shown(capsys) == ["a.py:2 PPF001", "c.py:1 PPF003"]


FIXABLE = in_step(SUM).replace("    for step", "    total = 0\n    for step")


def test_fix_repairs_what_was_changed(capsys: Output) -> None:
    Path("old.py").write_text(FIXABLE)
    write(new=FIXABLE.replace("+= loss.item()", "+= 0"))
    commit()
    write(new=FIXABLE)
    assert main(["check", "--fix", "--changed-since", "HEAD"]) == 0
    closing = "(1 fixed, 0 remaining). 1 more is not on lines changed since HEAD.\n"
    assert capsys.readouterr().out.endswith(closing)
    assert Path("old.py").read_text() == FIXABLE
    assert "item()" not in Path("new.py").read_text()


def test_add_noqa_and_a_baseline_go_with_it(capsys: Output) -> None:
    write(train=in_step(SUM + PRINT))
    main(["check", "--write-baseline", "-q"])
    commit()
    write(train=in_step(SUM.replace("total", "every") + PRINT + SUM), other=in_step(PRINT))
    known = ("--baseline", "perflint-baseline.json")
    # The line that moved below is in the baseline.
    assert shown(capsys, *known) == ["other.py:12 PPF202", "train.py:12 PPF201"]
    assert main(["check", "--changed-since", "HEAD", *known, "--add-noqa", "-q"]) == 0
    assert shown(capsys, *known) == []
    assert Path("train.py").read_text().count("# noqa") == 1


def test_what_an_editor_has_not_saved_is_compared_too(capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    write(train=in_step("x = 1\n" + PRINT))
    commit()
    pipe(monkeypatch, in_step("y = 2\nx = 1\n" + PRINT + SUM).encode())
    assert shown(capsys, "--stdin-filename", "train.py") == ["train.py:15 PPF201"]


def test_a_cached_run_is_narrowed_too(capsys: Output, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PERFLINT_CACHE_DIR", str(tmp_path / "cache"))
    write(train=in_step(SUM))
    commit()
    assert main(["check", "-q"]) == 1
    capsys.readouterr()
    assert shown(capsys) == []
    assert main(["check", "-q"]) == 1
