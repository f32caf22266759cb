"""``--baseline`` and ``--write-baseline``: what is known is left out, and stays so while the code moves."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from perflint.cli import main
from perflint.suppress import baseline
from tests.cli_runs import Output, write
from tests.support import in_step

pytestmark = pytest.mark.usefixtures("real_workplace")

SUM = "total += loss.item()\n"
PRINT = "print(loss.item())\n"
TRAIN = in_step(SUM + PRINT)
FILE = Path("perflint-baseline.json")


def listed() -> list[tuple[str, str, str]]:
    """Path, code and text of each entry of the baseline, in its order."""
    return [(item["path"], item["code"], item["text"]) for item in json.loads(FILE.read_text())["findings"]]


def check(*arguments: str) -> int:
    return main(["check", "--output-format", "concise", "--baseline", str(FILE), *arguments])


@pytest.fixture
def known(real_workplace: None, capsys: Output) -> None:
    """A file with two findings, both in the baseline."""
    write(train=TRAIN)
    assert main(["check", "--write-baseline"]) == 0
    capsys.readouterr()


# --- what is written


def test_the_file_is_for_people_and_for_diffs(capsys: Output) -> None:
    write(train=TRAIN, b=in_step(SUM), a="x = 1\n")
    assert main(["check", "--write-baseline"]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "Wrote 3 findings in 2 of 3 files to perflint-baseline.json.",
        f'Use it with --baseline {FILE}, or with baseline = "{FILE}" in the configuration.',
    ]
    assert listed() == [
        ("b.py", "PPF201", "total += loss.item()"),
        ("train.py", "PPF201", "total += loss.item()"),
        ("train.py", "PPF202", "print(loss.item())"),
    ]
    lines = FILE.read_text().splitlines()
    assert json.loads(FILE.read_text())["version"] == 1
    assert [line for line in lines if "train.py" in line and "print(loss.item())" in line] == [lines[-3]]
    assert lines[-3].startswith('    {"path": "train.py", "code": "PPF202", "fingerprint": "')


def test_it_is_the_same_again_and_when_lines_move() -> None:
    write(train=TRAIN)
    main(["check", "--write-baseline"])
    first = FILE.read_bytes()
    write(train="import os\n\n" + TRAIN)
    main(["check", "--write-baseline"])
    assert FILE.read_bytes() == first


def test_no_findings_make_an_empty_baseline(capsys: Output) -> None:
    write(train="x = 1\n")
    assert main(["check", "--write-baseline=known.json", "-q"]) == 0
    assert json.loads(Path("known.json").read_text())["findings"] == []
    assert main(["check", "--baseline", "known.json"]) == 0
    assert capsys.readouterr() == ("No findings in 1 file. It does not use Paddle.\n", "")


def test_the_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "known.json"
    baseline.write(path, [])
    about = "Findings that perflint does not report; perflint check --write-baseline writes them again."
    assert path.read_text() == f'{{\n  "version": 1,\n  "about": "{about}",\n  "findings": []\n}}\n'
    entry = baseline.Entry("caf\udce9.py", "PPF201", "損失", "1")  # a name that is no UTF-8
    baseline.write(path, [entry])
    item = '{"path": "caf\\udce9.py", "code": "PPF201", "fingerprint": "1", "text": "損失"}'
    assert f'  "findings": [\n    {item}\n  ]\n' in path.read_text(encoding="utf-8")
    assert baseline.read(path).entries == {"1": entry}


def test_words_of_any_script_and_long_lines() -> None:
    write(train=in_step(f"print('損失', loss.item(), {'1 + ' * 50}1)\n"))
    main(["check", "--write-baseline"])
    ((_, _, text),) = listed()
    assert text.startswith("print('損失', loss.item(), 1 + ")
    assert len(text) == 100
    assert "損失" in FILE.read_text(encoding="utf-8")
    assert check() == 0


def test_a_path_behind_write_baseline_is_checked() -> None:
    write(train=TRAIN, other=TRAIN)
    assert main(["check", "--write-baseline", "train.py"]) == 0
    assert {path for path, _, _ in listed()} == {"train.py"}


def test_nothing_else_is_replaced(capsys: Output) -> None:
    write(train=TRAIN)
    assert main(["check", "--write-baseline=train.py"]) == 2
    assert "train.py" in capsys.readouterr().err
    assert Path("train.py").read_text() == TRAIN
    assert main(["check", "--write-baseline=no/such/place.json"]) == 2
    assert "no/such/place.json" in capsys.readouterr().err


@pytest.mark.parametrize("other", ["--fix", "--diff", "--watch", "--add-noqa", "--changed-since=HEAD"])
def test_write_baseline_does_not_go_with_every_option(other: str, capsys: Output) -> None:
    write(train=TRAIN)
    assert main(["check", "--write-baseline", other]) == 2
    err = capsys.readouterr().err
    assert "--write-baseline" in err
    assert other.partition("=")[0] in err
    assert not FILE.exists()


def test_what_a_run_does_not_check_is_kept(capsys: Output) -> None:
    write(train=TRAIN, other=TRAIN, gone=TRAIN)
    main(["check", "--write-baseline"])
    everything = listed()
    Path("gone.py").unlink()
    write(train=in_step(PRINT))
    capsys.readouterr()
    main(["check", "--write-baseline", "train.py"])
    assert capsys.readouterr().err.startswith(
        f"Wrote 1 finding in 1 file to {FILE}, and kept 2 of files or rules that were not checked."
    )
    assert listed() == [*(item for item in everything if item[0] == "other.py"), ("train.py", "PPF202", PRINT.strip())]
    write(train="x = 1\n", other="x = 1\n")
    main(["check", "--write-baseline", "--select", "PPF201"])
    assert [(path, code) for path, code, _ in listed()] == [("other.py", "PPF202"), ("train.py", "PPF202")]


@pytest.mark.usefixtures("real_workplace")
def test_what_only_its_caller_shows_stays_known_when_a_helper_is_checked_alone(capsys: Output) -> None:
    train = "import paddle\nfrom meters import note\n" + in_step("note(loss)\n").partition("import paddle\n")[2]
    write(train=train, meters="def note(loss):\n    return loss.item()\n")
    main(["check", "--write-baseline"])
    before = listed()
    assert [(path, code) for path, code, _ in before] == [("meters.py", "PPF201"), ("train.py", "PPF201")]
    capsys.readouterr()
    assert main(["check", "--baseline", str(FILE), "meters.py"]) == 0
    assert "no finding any more" not in capsys.readouterr().err
    main(["check", "--write-baseline", "meters.py"])
    assert listed() == before
    write(meters="def note(loss):\n    return loss\n")
    main(["check", "--write-baseline", "meters.py"])
    assert listed() == before[1:]


# --- what is left out


@pytest.mark.usefixtures("known")
def test_what_is_known_is_hidden_and_counted(capsys: Output) -> None:
    assert check() == 0
    assert capsys.readouterr() == ("No findings in 1 file. The baseline hides 2 more.\n", "")
    assert check("-q") == 0
    assert capsys.readouterr() == ("", "")
    assert main(["check", "-q"]) == 1


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize(
    "text",
    [
        "import os\n\n\n" + TRAIN,
        in_step("if step > 3:\n    total += loss.item()\n    print(loss.item())\n"),
        TRAIN.replace("\n", "\r\n"),
        in_step(PRINT + "x = 1\n" + SUM),
    ],
    ids=["lines before", "indented", "line ends", "other order"],
)
def test_moved_lines_stay_hidden(text: str) -> None:
    write(train=text)
    assert check() == 0


@pytest.mark.usefixtures("known")
def test_what_is_new_is_reported(capsys: Output) -> None:
    write(train=in_step(SUM + PRINT + "x = float(loss)\n" + PRINT), other=in_step(SUM))
    assert check() == 1
    lines = capsys.readouterr().out.splitlines()
    # Of two alike, the second is the new one.
    assert [line.split(" ")[:2] for line in lines[:-1]] == [
        ["other.py:12:18:", "PPF201"],
        ["train.py:14:13:", "PPF201"],
        ["train.py:15:9:", "PPF202"],
    ]
    assert lines[-1].endswith(" The baseline hides 2 more.")


@pytest.mark.usefixtures("known")
def test_a_file_that_was_renamed_keeps_its_entries(capsys: Output) -> None:
    Path("sub").mkdir()
    Path("train.py").rename("sub/main.py")
    write(new=in_step("y = loss.numpy()\n"))
    assert check("-q") == 1
    out, err = capsys.readouterr()
    assert [line.split(":")[0] for line in out.splitlines()] == ["new.py"]
    assert err == ""
    # A copy is none: the file is still there.
    Path("train.py").write_text(TRAIN)
    assert check("-q", "sub") == 1


def test_the_file_that_is_most_like_it_is_the_renamed_one() -> None:
    write(a=in_step("y = loss.numpy()\n"), b=in_step(SUM))
    assert main(["check", "-q", "--write-baseline"]) == 0
    Path("a.py").unlink()
    Path("b.py").rename("new.py")
    assert check("-q") == 0


@pytest.mark.usefixtures("known")
def test_all_formats_leave_it_out(capsys: Output) -> None:
    write(other=in_step(SUM))
    for options in (["json"], ["json", "--statistics"], ["full"], ["concise", "--statistics"]):
        assert main(["check", "-q", "--baseline", str(FILE), "--output-format", *options]) == 1
        out = capsys.readouterr().out
        assert "PPF201" in out
        assert "PPF202" not in out


def test_fix_leaves_what_is_known_alone(capsys: Output) -> None:
    fixable = in_step(SUM).replace("    for step", "    total = 0\n    for step")
    write(train=fixable)
    main(["check", "--write-baseline", "-q"])
    write(other=fixable)
    assert check("--diff") == 1
    out, err = capsys.readouterr()
    assert "train.py" not in out
    assert err.endswith("(1 would be fixed, 0 would remain). The baseline hides 1 more.\n")
    assert check("--fix") == 0
    assert Path("train.py").read_text() == fixable
    assert "item()" not in Path("other.py").read_text()
    assert capsys.readouterr().out.endswith("(1 fixed, 0 remaining). The baseline hides 1 more.\n")
    assert check("--fix", "--no-baseline") == 0
    assert "item()" not in Path("train.py").read_text()


@pytest.mark.usefixtures("known")
def test_add_noqa_leaves_what_is_known_alone() -> None:
    write(other=in_step(SUM))
    assert check("--add-noqa") == 0
    assert Path("train.py").read_text() == TRAIN
    assert Path("other.py").read_text() == in_step("total += loss.item()  # noqa: PPF201\n")


def test_a_cached_run_is_narrowed_too(capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERFLINT_CACHE_DIR", "cache")
    write(train=TRAIN)
    assert main(["check", "-q"]) == 1
    assert main(["check", "--write-baseline"]) == 0
    assert check() == 0
    assert main(["check", "-q"]) == 1
    assert check() == 0


# --- which file it is


def test_the_configuration_names_it(capsys: Output) -> None:
    Path("perflint.toml").write_text('baseline = "lists/known.json"\n')
    Path("lists").mkdir()
    Path("sub").mkdir()
    Path("sub/train.py").write_text(TRAIN)
    assert main(["check"]) == 2
    assert "lists/known.json" in capsys.readouterr().err
    assert main(["check", "--write-baseline"]) == 0
    assert capsys.readouterr().err == "Wrote 2 findings in 1 file to lists/known.json.\n"
    assert "../sub/train.py" in Path("lists/known.json").read_text()
    assert main(["check"]) == 0
    assert main(["check", "sub/train.py"]) == 0
    assert main(["check", "--no-baseline"]) == 1
    assert main(["check", "--baseline", "other.json"]) == 2


@pytest.mark.usefixtures("known")
def test_paths_are_seen_from_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    assert main(["check", "-q", "..", "--baseline", f"../{FILE}"]) == 0
    assert main(["check", "-q", str(tmp_path / "train.py"), "--baseline", f"../{FILE}"]) == 0


# --- entries without a finding


@pytest.mark.usefixtures("known")
def test_what_is_gone_is_told_and_changes_no_exit_status(capsys: Output) -> None:
    write(train=in_step(PRINT), other="x = 1\n")
    assert check() == 0
    note = f"note: {FILE}: 1 entry has no finding any more (train.py PPF201): --write-baseline removes them\n"
    assert capsys.readouterr() == ("No findings in 2 files. The baseline hides 1 more.\n", note)
    assert check("-q") == 0
    assert check("other.py") == 0
    assert check("--select", "PPF202") == 0
    assert capsys.readouterr().err == ""
    main(["check", "--write-baseline"])
    assert [code for _, code, _ in listed()] == ["PPF202"]
    Path("train.py").unlink()
    capsys.readouterr()
    check("other.py")
    assert "1 entry has no finding any more (train.py PPF202)" in capsys.readouterr().err


# --- files that are none

ANEW = ": write it again with --write-baseline"


@pytest.mark.parametrize("name", ["/dev/fd/{}", "/proc/self/fd/{}", "/dev/fd/../fd/{}"])
@pytest.mark.usefixtures("known")
def test_a_pipe_of_the_shell_is_read(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """``--baseline <(git show main:perflint-baseline.json)``"""
    if not Path("/proc/self/fd").is_dir():
        pytest.skip("this system has no /proc")
    reading, writing = os.pipe()
    try:
        os.write(writing, FILE.read_bytes())
        os.close(writing)
        assert main(["check", "-q", "--baseline", name.format(reading)]) == 0
    finally:
        os.close(reading)


def test_any_other_pipe_is_not_waited_for(capsys: Output) -> None:
    write(train=TRAIN)
    os.mkfifo("known.json")
    assert main(["check", "--baseline", "known.json"]) == 2
    assert "known.json: the baseline cannot be read: " in capsys.readouterr().err


def test_what_the_system_says_of_a_file_that_cannot_be_read(capsys: Output) -> None:
    write(train=TRAIN)
    Path("known.json").write_bytes(b"\xff")
    assert main(["check", "--baseline", "known.json"]) == 2
    assert "known.json: the baseline cannot be read: 'utf-8' codec can't decode byte 0xff" in capsys.readouterr().err
    Path("folder").mkdir()
    assert main(["check", "--baseline", "folder"]) == 2
    err = capsys.readouterr().err
    assert "folder: the baseline cannot be read: " in err
    assert "[Errno" not in err


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", True),
        (" \n", True),
        ('{"version": 1, "findings": []}', True),
        ('<<<<<<< HEAD\n{"path": "a.py", "fingerprint": "1"}', True),
        ('{"version": 1}', False),
        ('{"findings": 1}', False),
        ("x = 1", False),
    ],
)
def test_what_may_be_replaced(text: str, expected: bool, tmp_path: Path) -> None:
    (tmp_path / "file").write_text(text)
    assert baseline.looks_like_one(tmp_path / "file") is expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["known.json:1: the baseline is not valid JSON: Expecting value", ANEW]),
        ('{\n  "version": 1,\n  "findings": [\n    {}\n    {}\n  ]\n}\n', ["known.json:5:", "not valid JSON"]),
        ('{\n<<<<<<< HEAD\n"version": 1\n', ["known.json:2: the baseline contains a merge conflict: keep the lines"]),
        ("[]", ["known.json: this is not a baseline of perflint: name another file, or write it again"]),
        (
            '{"version": 2, "findings": []}',
            ["the baseline has version 2, and this perflint reads version 1: use the perflint that wrote it, or "],
        ),
        ('{"version": 1}', ["known.json: the baseline has no list of findings", ANEW]),
        (
            '{"version": 1, "findings": [{"path": "a.py"}]}',
            ["known.json: finding 1 of the baseline does not have the form that perflint writes", ANEW],
        ),
    ],
)
def test_a_file_that_cannot_be_used_exits_2(text: str, words: list[str], capsys: Output) -> None:
    write(train=TRAIN)
    Path("known.json").write_text(text)
    assert main(["check", "--baseline", "known.json"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("perflint: known.json")
    for word in words:
        assert word in err


def test_a_merge_conflict_can_be_written_over(capsys: Output) -> None:
    write(train=TRAIN)
    main(["check", "--write-baseline"])
    good = FILE.read_text()
    FILE.write_text(good.replace("    {", "<<<<<<< HEAD\n    {", 1))
    assert check() == 2
    assert main(["check", "--write-baseline"]) == 0
    assert FILE.read_text() == good
    # Both sides of a conflict, as people resolve them, may hold an entry twice.
    line = next(row for row in good.splitlines(keepends=True) if row.endswith("},\n"))
    FILE.write_text(good.replace(line, line + line))
    assert check() == 0
