"""What comes from outside is shown and never obeyed: by terminals, and by the logs of CI systems."""

from __future__ import annotations

import json
import os
import subprocess
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest

from perflint.output.formats import FORMATS
from perflint.output.report import json_text
from perflint.text.visible import is_plain, visible, visible_line, visible_path
from tests import hostile
from tests.cli_runs import ROOT
from tests.terminals import read_all

needs_names = pytest.mark.skipif(os.name != "posix" or os.uname().sysname == "Darwin", reason="names of any bytes")
SELECT = "--select=PPF0,PPF101"


# --- the function


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("train.py", "train.py"),
        ("C:\\new\\train.py", "C:\\new\\train.py"),
        ("损失 é 😀", "损失 é 😀"),
        ("a\nb\tc\rd", r"a\nb\tc\rd"),
        ("\x1b[2J\x07\x7f\x9b", r"\x1b[2J\x07\x7f\x9b"),
        ("\u202e\u2066\u200b\ufeff\u2028\u00ad", r"\u202e\u2066\u200b\ufeff\u2028\xad"),
        ("\U000e0041", r"\U000e0041"),
        ("\udcff\ud800", r"\xff\ud800"),
        ("\u3164", r"\u3164"),
        ("##vso[x] ##[y] ##TEAMCITY[z]", r"#\x23vso[x] #\x23[y] #\x23TEAMCITY[z]"),
        ("## heading", "## heading"),
        ("###[x]", r"##\x23[x]"),
    ],
)
def test_what_steers_is_shown_as_an_escape_and_all_else_as_it_is(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_every_character_is_plain_or_escaped() -> None:
    for code in range(0x110000):
        shown = visible(chr(code))
        assert shown == chr(code) if is_plain(chr(code)) else shown.isascii() and shown.isprintable()
        assert unicodedata.category(shown[0]) not in ("Cc", "Cf", "Cs", "Zl", "Zp")


def test_no_line_begins_like_a_command() -> None:
    assert visible_line("::error::x") == r"\x3a:error::x"
    assert visible_line("\u2028 ::error::x") == r"\u2028 ::error::x"
    assert visible_line("  ::error::x") == r"  \x3a:error::x"
    assert visible_line("std::vector") == "std::vector"
    assert visible_path("::error::x.py") == "./::error::x.py"
    assert visible_path(" ::error::x.py") == "./ ::error::x.py"
    assert visible_path("src/::error::x.py") == "src/::error::x.py"


def test_json_keeps_its_meaning() -> None:
    value = [hostile.STEERS, "\x7f####[", *(name for name in hostile.NAMES)]
    assert json.loads(json_text(value)) == value
    assert hostile.harm(json_text(value, indent=2).encode()) == []


# --- every writer


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("hostile")
    hostile.make(root)
    return root


@needs_names
@pytest.mark.parametrize("name", FORMATS)
def test_no_format_hands_on_what_steers(folder: Path, name: str) -> None:
    for more in ((), ("--unsafe-fixes", "--baseline", "known.json")):
        done = hostile.run(folder, "check", SELECT, "--output-format", name, *more)
        assert done.returncode == 1, done.stderr
        assert hostile.harm(done.stdout + b"\n" + done.stderr) == []
        assert b"PPF101" in done.stdout


@needs_names
@pytest.mark.parametrize("name", ["full", "concise"])
def test_statistics_colours_and_files_do_not_either(folder: Path, tmp_path: Path, name: str) -> None:
    done = hostile.run(folder, "check", SELECT, "--output-format", name, FORCE_COLOR="1")
    assert b"\x1b[1m" in done.stdout
    assert hostile.harm(done.stdout + done.stderr) == []
    done = hostile.run(folder, "check", SELECT, f"--output={name}:{tmp_path / 'report'}", "--statistics")
    assert hostile.harm(done.stdout + done.stderr + (tmp_path / "report").read_bytes()) == []


def hostile_errors(root: Path) -> Iterator[list[str]]:
    """Arguments of runs that fail with names and texts from outside."""
    evil = "\x1b[2J\n::error::\u202e##vso[x]"
    configuration = root / f"{evil}.toml"
    for text in ('"\\u001b[2J\\n::error::" = 1\n', 'select = ["\\u001b[2J\\n::error::\\u202e"]\n', "x = \x1b\n"):
        configuration.write_text(text)
        yield ["check", "--config", str(configuration)]
        yield ["config", "--config", str(configuration)]
    baseline = root / f"{evil}.json"
    for text in ("{\n", "[]\n", json.dumps({"version": evil}), json.dumps({"version": 1, "findings": [{evil: 1}]})):
        baseline.write_text(text)
        yield ["check", "--baseline", str(baseline)]
    yield ["check", f"gone{evil}.py"]
    yield ["check", f"--gone{evil}"]
    yield ["check", f"--output={evil}:x"]
    yield ["check", f"--output=sarif:{root}/gone{evil}/x"]
    yield ["check", "--changed-since", evil]
    yield ["rule", evil]
    yield ["bench", f"gone{evil}.py"]


@needs_names
def test_no_error_hands_it_on(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    for arguments in hostile_errors(tmp_path):
        done = hostile.run(tmp_path, *arguments)
        assert done.returncode == 2, (arguments, done.stderr)
        assert hostile.harm(done.stdout + b"\n" + done.stderr) == [], arguments


@needs_names
def test_the_settings_do_not_either(tmp_path: Path) -> None:
    evil = tmp_path / "a\x1b[2J\n::error::\u202e"
    evil.mkdir()
    (evil / "perflint.toml").write_text(
        'exclude = ["\\u001b\\u009b\\u202e\\u200b\\u2028\\u007f##vso[x]"]\nbaseline = "\\n::error::\\u202e"\n'
    )
    done = hostile.run(evil, "config")
    assert done.returncode == 0
    assert hostile.harm(done.stdout) == []
    # What is shown is TOML that says the same.
    (evil / "perflint.toml").write_bytes(done.stdout)
    again = hostile.run(evil, "config")
    assert [line.split(b"  # ")[0] for line in again.stdout.splitlines()[1:]] == [
        line.split(b"  # ")[0] for line in done.stdout.splitlines()[1:]
    ]


@needs_names
def test_fixes_comments_and_baselines_tell_of_files_without_harm(tmp_path: Path) -> None:
    hostile.make(tmp_path)
    for arguments in (
        ["--write-baseline"],
        ["--add-noqa", "--diff", "-q"],
        ["--fix", "--unsafe-fixes", "--output-format", "concise"],
        ["--add-noqa", "--select=ALL"],
    ):
        done = hostile.run(tmp_path, "check", SELECT, *arguments)
        assert done.returncode in (0, 1), done.stderr
        shown = b"" if "--diff" in arguments else done.stdout
        assert hostile.harm(shown + b"\n" + done.stderr) == []


# --- diffs


@needs_names
@pytest.mark.parametrize("command", [["git", "apply", "-p0", "--unsafe-paths"], ["patch", "-p0", "--quiet"]])
def test_a_diff_for_programs_quotes_names_and_still_applies(tmp_path: Path, command: list[str]) -> None:
    # patch takes no name with a line end, whoever has quoted it.
    names = [name for name in hostile.NAMES if "\n" not in name or command[0] == "git"]
    names += ['quote".py', "back\\slash.py", "a b.py", "损失.py"]
    for name in names:
        (tmp_path / name).write_text(f"import paddle\nloader = {hostile.CALL}\n")
    done = hostile.run(tmp_path, "check", SELECT, "--diff", "--unsafe-fixes")
    assert done.returncode == 1
    lines = [line for line in done.stdout.split(b"\n") if line.startswith((b"---", b"+++"))]
    assert len(lines) == 2 * len(names)
    assert hostile.harm(b"\n".join(lines)) == []
    assert "--- 损失.py".encode() in lines
    subprocess.run(command, cwd=tmp_path, input=done.stdout, check=True)
    for name in names:
        assert "num_workers" in (tmp_path / name).read_text(), name


@needs_names
def test_a_diff_for_programs_keeps_the_bytes_of_the_source(folder: Path) -> None:
    done = hostile.run(folder, "check", SELECT, "--diff", "--unsafe-fixes", hostile.NAMES[3])
    assert f"# {hostile.STEERS}\n".encode() in done.stdout


@needs_names
@pytest.mark.parametrize("colour", [{"TERM": "xterm"}, {"NO_COLOR": "1"}])
def test_a_diff_on_a_terminal_shows_what_steers(folder: Path, colour: dict[str, str]) -> None:
    import pty
    import sys

    master, slave = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8", **colour}
    command = [sys.executable, "-m", "perflint", "check", SELECT, "--min-impact=low", "--diff", "--unsafe-fixes"]
    with subprocess.Popen(command, cwd=folder, stdout=slave, stderr=slave, env=environment) as running:
        os.close(slave)
        shown = read_all(master)
        assert running.wait() == 1
    os.close(master)
    assert b"num_workers=4" in shown
    assert hostile.harm(shown.replace(b"\r\n", b"\n")) == []
