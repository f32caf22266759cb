"""The command line, with a checker whose findings are words in the files."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from perflint import __version__, catalogue, engine
from perflint.cli import main
from perflint.findings import Edit, Finding, Fix, Level
from perflint.source import Source
from tests import fake_rules

ROOT = Path(__file__).resolve().parents[1]
PRELUDE = """\
import sys
sys.path[:0] = {paths!r}
from tests import fake_rules
from perflint import catalogue, engine
catalogue.shipped = lambda: fake_rules.RULES
engine.check, engine.check_projects = fake_rules.check, fake_rules.check_projects
from perflint.cli import main
"""


@pytest.fixture(autouse=True)
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty project as the current directory, the fake rules, and no colour from outside."""
    monkeypatch.setattr(catalogue, "shipped", lambda: fake_rules.RULES)
    monkeypatch.setattr(engine, "check", fake_rules.check)
    monkeypatch.setattr(engine, "check_projects", fake_rules.check_projects)
    for name in ("NO_COLOR", "FORCE_COLOR", "PERFLINT_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "perflint.toml").touch()
    monkeypatch.chdir(tmp_path)


Output = pytest.CaptureFixture[str]


def write(**files: str) -> None:
    for name, text in files.items():
        Path(f"{name}.py").write_bytes(text.encode())


def pipe(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))


def process(arguments: Sequence[str], **options: object) -> subprocess.Popen[bytes]:
    """perflint with the fake rules in a process of its own."""
    code = PRELUDE.format(paths=[str(ROOT)]) + f"sys.exit(main({list(arguments)!r}))"
    return subprocess.Popen([sys.executable, "-c", code], **options)  # type: ignore[call-overload, no-any-return]


# --- exit status


def test_clean_code_exits_0_and_says_how_much_was_checked(capsys: Output) -> None:
    write(a="x = 1\n", b="y = 2\n")
    assert main(["check"]) == 0
    assert capsys.readouterr() == ("No findings in 2 files.\n", "")


def test_findings_exit_1(capsys: Output) -> None:
    write(a="x = SAFE\n", b="y = RISKY\nz = SHOWN\n")
    assert main(["check", ".", "--output-format", "concise"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "a.py:1:5: PPF201 [*] SAFE costs time.",
        "b.py:1:5: PPF101 [u] RISKY costs time.",
        "b.py:2:5: PPF401 [d] SHOWN costs time.",
        "Found 3 findings in 2 files (1 fixable with --fix; 1 more with --unsafe-fixes).",
    ]


def test_exit_zero_turns_findings_into_0_but_not_failures(capsys: Output) -> None:
    write(a="x = SAFE\n")
    assert main(["check", "--exit-zero"]) == 0
    assert main(["check", "--diff", "--exit-zero"]) == 0
    assert main(["check", "gone.py", "--exit-zero"]) == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["check", "gone.py"], ["gone.py", "does not exist"]),
        (["check", "--select", "PPF9"], ["--select", "PPF9"]),
        (["check", "--ignore", "no-such-rule"], ["--ignore", "no-such-rule"]),
        (["check", "--config", "gone.toml"], ["gone.toml"]),
        (["check", "-", "a.py"], ["standard input"]),
        (["check", "a.py", "--stdin-filename", "b.py"], ["--stdin-filename"]),
        (["check", "--output-file", "no/such/place"], ["--output-file", "no/such/place"]),
        (["config", "--config", "gone.toml"], ["gone.toml"]),
        (["rule", "PPF999"], ["PPF999"]),
    ],
)
def test_what_cannot_work_exits_2_with_one_sentence(arguments: list[str], words: list[str], capsys: Output) -> None:
    write(a="x = 1\n")
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("perflint: ")
    assert err.count("\n") == 1
    for word in words:
        assert word in err


@pytest.mark.parametrize("arguments", [["check", "--no-such-option"], ["frobnicate"], ["check", "-j", "0"]])
def test_arguments_that_argparse_refuses_exit_2(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2


def test_no_command_shows_the_help_and_exits_2(capsys: Output) -> None:
    assert main([]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "check" in err


def test_a_broken_configuration_names_file_and_key(capsys: Output) -> None:
    Path("perflint.toml").write_text("selct = ['PPF2']\n")
    assert main(["check"]) == 2
    assert re.fullmatch(r"perflint: .*perflint\.toml:1: selct: .*select.*\n", capsys.readouterr().err)


def test_a_crash_in_a_rule_is_one_line_that_names_the_file(capsys: Output) -> None:
    write(a="x = SAFE\n", b="CRASH\n")
    assert main(["check"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("perflint: internal error in b.py: ValueError: a rule fell over.")
    assert "report it at https://" in err


def test_a_crash_shows_its_traceback_when_debugging(monkeypatch: pytest.MonkeyPatch) -> None:
    write(a="CRASH\n")
    monkeypatch.setenv("PERFLINT_DEBUG", "1")
    with pytest.raises(Exception, match=r"a\.py") as raised:
        main(["check"])
    assert isinstance(raised.value.__cause__, ValueError)


def test_an_interruption_has_no_traceback(monkeypatch: pytest.MonkeyPatch, capsys: Output) -> None:
    def interrupt(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    write(a="x = 1\n")
    monkeypatch.setattr(engine, "check_projects", interrupt)
    assert main(["check"]) == 130
    assert capsys.readouterr() == ("", "")


def test_no_python_files_is_said_and_exits_0(capsys: Output) -> None:
    assert main(["check"]) == 0
    assert "no Python files" in capsys.readouterr().err


def test_an_unreadable_file_is_a_finding_and_the_others_are_checked(capsys: Output) -> None:
    write(a="x = SAFE\n")
    Path("b.py").write_bytes(b"x = '\xff'\n")
    Path("c.py").write_bytes(b"x = 1\0\n")
    assert main(["check", "--output-format", "concise", "--quiet"]) == 1
    assert [line.split()[:2] for line in capsys.readouterr().out.splitlines()] == [
        ["a.py:1:5:", "PPF201"],
        ["b.py:1:1:", "PPF003"],
        ["c.py:1:1:", "PPF003"],
    ]


# --- options


def test_rules_can_be_chosen_in_lists_and_repeatedly(capsys: Output) -> None:
    write(a="SAFE\nRISKY\nSHOWN\n")
    assert main(["check", "--select", "PPF101,PPF201", "--select", "PPF401", "-q", "--output-format", "concise"]) == 1
    assert capsys.readouterr().out.count("\n") == 3
    assert main(["check", "--select", "PPF101", "-q", "--output-format", "concise"]) == 1
    assert capsys.readouterr().out.count("\n") == 1


def test_quiet_shows_findings_only(capsys: Output) -> None:
    write(a="SAFE\n")
    assert main(["check", "--quiet", "--output-format", "concise"]) == 1
    assert capsys.readouterr() == ("a.py:1:1: PPF201 [*] SAFE costs time.\n", "")


def test_json_puts_nothing_but_json_on_standard_output(capsys: Output) -> None:
    write(a="SAFE\n")
    assert main(["check", "--output-format", "json"]) == 1
    out, err = capsys.readouterr()
    assert [item["code"] for item in json.loads(out)] == ["PPF201"]
    assert err == ""
    assert main(["check", "--fix", "--output-format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == []


def test_statistics_replace_the_findings(capsys: Output) -> None:
    write(a="SAFE\nRISKY\nSAFE\n")
    assert main(["check", "--statistics"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "2  PPF201  [*]  host-sync-in-step",
        "1  PPF101  [ ]  dataloader-no-workers",
        "Found 3 findings in 1 file (2 fixable with --fix; 1 more with --unsafe-fixes).",
    ]
    assert main(["check", "--statistics", "--output-format", "json"]) == 1
    assert [item["count"] for item in json.loads(capsys.readouterr().out)] == [2, 1]


def test_unsafe_fixes_alone_counts_them_in(capsys: Output) -> None:
    write(a="RISKY\n")
    assert main(["check", "--unsafe-fixes", "--output-format", "concise"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "a.py:1:1: PPF101 [*] RISKY costs time.",
        "Found 1 finding in 1 file (1 fixable with --fix --unsafe-fixes).",
    ]
    assert Path("a.py").read_text() == "RISKY\n"


def test_the_findings_can_go_to_a_file(capsys: Output) -> None:
    write(a="SAFE\n")
    assert main(["check", "--output-format", "json", "--output-file", "out.json"]) == 1
    assert capsys.readouterr().out == ""
    assert json.loads(Path("out.json").read_text())[0]["code"] == "PPF201"


def test_force_exclude_holds_for_named_files_too(capsys: Output) -> None:
    write(a="SAFE\n")
    Path("perflint.toml").write_text("exclude = ['a.py']\n")
    assert main(["check", "a.py"]) == 1
    assert main(["check", "a.py", "--force-exclude"]) == 0


def test_the_configuration_nearest_to_the_code_is_used(tmp_path: Path, capsys: Output) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.py").write_text("SAFE\nRISKY\n")
    (other / "perflint.toml").write_text("select = ['PPF101']\n")
    assert main(["check", "other", "-q", "--output-format", "concise"]) == 1
    assert "PPF201" not in capsys.readouterr().out
    assert main(["check", "other", "-q", "--output-format", "concise", "--isolated"]) == 1
    assert "PPF201" in capsys.readouterr().out


def test_colour_can_be_forced_and_refused(monkeypatch: pytest.MonkeyPatch, capsys: Output) -> None:
    write(a="SAFE\n")
    main(["check"])
    assert "\x1b" not in capsys.readouterr().out
    monkeypatch.setenv("FORCE_COLOR", "1")
    main(["check"])
    assert "\x1b[1;31mPPF201\x1b[0m" in capsys.readouterr().out
    monkeypatch.setenv("NO_COLOR", "1")
    main(["check"])
    assert "\x1b" not in capsys.readouterr().out


# --- fixing


def test_fix_applies_safe_fixes_and_reports_what_remains(capsys: Output) -> None:
    write(a="x = SAFE\ny = RISKY\nz = SHOWN\n", b="x = SAFE\n", c="x = 1\n")
    assert main(["check", "--fix", "--output-format", "concise"]) == 1
    assert Path("a.py").read_text() == "x = sum\ny = RISKY\nz = SHOWN\n"
    assert Path("b.py").read_text() == "x = sum\n"
    assert capsys.readouterr().out.splitlines() == [
        "a.py:2:5: PPF101 [u] RISKY costs time.",
        "a.py:3:5: PPF401 [d] SHOWN costs time.",
        "Found 4 findings in 2 files (2 fixed, 2 remaining; 1 more with --unsafe-fixes).",
    ]


def test_fix_with_unsafe_fixes_applies_both_and_exits_0_when_nothing_remains(capsys: Output) -> None:
    write(a="x = SAFE\ny = RISKY\n")
    assert main(["check", "--fix", "--unsafe-fixes"]) == 0
    assert Path("a.py").read_text() == "x = sum\ny = four\n"
    assert capsys.readouterr().out == "Found 2 findings in 1 file (2 fixed, 0 remaining).\n"
    assert main(["check", "--fix", "--unsafe-fixes"]) == 0
    assert Path("a.py").read_text() == "x = sum\ny = four\n"


def test_the_frame_after_a_fix_shows_the_file_as_it_is_now(capsys: Output) -> None:
    write(a="x = SAFE\ny = RISKY\n")
    assert main(["check", "--fix"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert "1 | x = sum" in lines
    assert "2 | y = RISKY" in lines


@pytest.mark.parametrize(
    "before",
    [
        b"\xef\xbb\xbfx = SAFE\r\n\ty = 1"[:14] + b"\r\n# end",
        "# coding: gbk\r\n# \u635f\u5931\r\nx = SAFE".encode("gbk"),
        b"x = 1\r\ny = SAFE\nz = 2\r",
    ],
)
def test_a_fix_keeps_all_other_bytes_of_the_file(before: bytes) -> None:
    Path("a.py").write_bytes(before)
    assert main(["check", "--fix", "-q"]) == 0
    assert Path("a.py").read_bytes() == before.replace(b"SAFE", b"sum")


def test_a_fix_that_gives_no_python_is_left_out_and_reported_as_a_bug(capsys: Output) -> None:
    write(a="x = BROKEN\n", b="x = SAFE\n")
    assert main(["check", "--fix", "--output-format", "concise"]) == 1
    assert Path("a.py").read_text() == "x = BROKEN\n"
    assert Path("b.py").read_text() == "x = sum\n"
    out, err = capsys.readouterr()
    assert err.count("\n") == 1
    for part in ("error: a.py:", "PPF201", "bug in perflint", "https://"):
        assert part in err
    assert out.splitlines()[-1] == "Found 2 findings in 2 files (1 fixed, 1 remaining)."


def test_a_file_whose_encoding_cannot_hold_the_fix_is_left_and_named(capsys: Output) -> None:
    before = "# coding: latin-1\nx = CHINESE  # \xe9\n".encode("latin-1")
    Path("a.py").write_bytes(before)
    assert main(["check", "--fix"]) == 1
    assert Path("a.py").read_bytes() == before
    err = capsys.readouterr().err
    assert err.startswith("warning: a.py:")
    assert "iso-8859-1" in err
    assert "bug" not in err


def test_a_file_that_cannot_be_written_stays_and_is_not_counted(
    monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    def refuse(path: Path, data: bytes) -> None:
        if path.name == "a.py":
            raise PermissionError(13, "Permission denied")
        path.write_bytes(data)

    monkeypatch.setattr("perflint.commands.saving.replace_file", refuse)
    write(a="x = SAFE\n", b="x = SAFE\n")
    assert main(["check", "--fix", "--output-format", "concise"]) == 2
    out, err = capsys.readouterr()
    assert "a.py" in err
    assert "Permission denied" in err
    assert out.splitlines() == [
        "a.py:1:5: PPF201 [*] SAFE costs time.",
        "Found 2 findings in 2 files (1 fixed, 1 remaining).",
    ]


def test_a_file_that_changed_during_the_run_is_left_alone(monkeypatch: pytest.MonkeyPatch, capsys: Output) -> None:
    def check(*arguments: object, **options: object) -> object:
        Path("a.py").write_text("y = SAFE\n")
        return fake_rules.check_projects(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(engine, "check_projects", check)
    write(a="x = SAFE\n")
    assert main(["check", "--fix"]) == 2
    assert Path("a.py").read_text() == "y = SAFE\n"
    assert "changed during the run" in capsys.readouterr().err


def test_a_file_whose_other_bytes_would_change_is_left_alone(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    # UTF-7 writes an "a" in more than one way, and only one of them would come back.
    before = b"# coding: utf-7\nx = SAFE  # +AGE-\n"
    Path("a.py").write_bytes(before)
    assert main(["check", "a.py", "--fix"]) == 2
    assert Path("a.py").read_bytes() == before
    assert b"does not give the same bytes back" in capfdbinary.readouterr().err
    pipe(monkeypatch, before)
    assert main(["check", "-", "--fix"]) == 2
    out, err = capfdbinary.readouterr()
    assert out == before
    assert b"does not give the same bytes back" in err


def test_when_there_is_more_to_fix_after_all_rounds_it_is_said(monkeypatch: pytest.MonkeyPatch, capsys: Output) -> None:
    def endless(projects: list[dict[str, Source]], *arguments: object, **options: object) -> list[list[Finding]]:
        fix = Fix("again", (Edit(0, 0, "y\n"),), Level.SAFE)
        return [[Finding("PPF201", path, 0, 1, "m", fix) for path in project] for project in projects]

    monkeypatch.setattr(engine, "check_projects", endless)
    write(a="x = 1\n")
    assert main(["check", "--fix", "-q"]) == 1
    assert Path("a.py").read_text() == "y\n" * 10 + "x = 1\n"
    assert "run the same command again" in capsys.readouterr().err


def test_a_link_is_fixed_through(tmp_path: Path) -> None:
    write(a="x = SAFE\n")
    Path("link.py").symlink_to("a.py")
    assert main(["check", "link.py", "--fix", "-q"]) == 0
    assert Path("link.py").is_symlink()
    assert Path("a.py").read_text() == "x = sum\n"


# --- diff


def test_diff_shows_what_fix_would_write_and_writes_nothing(capsys: Output) -> None:
    write(a="x = SAFE\ny = RISKY\n", b="x = 1\n")
    assert main(["check", "--diff"]) == 1
    assert Path("a.py").read_text() == "x = SAFE\ny = RISKY\n"
    out, err = capsys.readouterr()
    assert out == "--- a.py\n+++ a.py\n@@ -1,2 +1,2 @@\n-x = SAFE\n+x = sum\n y = RISKY\n"
    assert err == "Found 2 findings in 1 file (1 would be fixed, 1 would remain; 1 more with --unsafe-fixes).\n"


def test_diff_shows_unsafe_fixes_on_request_and_fix_does_not_make_it_write(capsys: Output) -> None:
    write(a="y = RISKY\n")
    assert main(["check", "--diff", "--fix"]) == 0
    assert capsys.readouterr().out == ""
    assert main(["check", "--diff", "--fix", "--unsafe-fixes", "-q"]) == 1
    out, err = capsys.readouterr()
    assert out.endswith("-y = RISKY\n+y = four\n")
    assert err == ""
    assert Path("a.py").read_text() == "y = RISKY\n"


def test_diff_in_colour_is_for_reading(monkeypatch: pytest.MonkeyPatch, capsys: Output) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    write(a="x = SAFE\n")
    assert main(["check", "--diff", "-q"]) == 1
    assert "\x1b[32m+x = sum\x1b[0m\n" in capsys.readouterr().out


# --- standard input


def test_standard_input_is_checked_under_its_name(monkeypatch: pytest.MonkeyPatch, capsys: Output) -> None:
    for arguments in (["-", "--stdin-filename", "sub/a.py"], ["--stdin-filename", "sub/a.py"]):
        pipe(monkeypatch, b"x = SAFE\n")
        assert main(["check", *arguments, "-q", "--output-format", "concise"]) == 1
        assert capsys.readouterr().out == "sub/a.py:1:5: PPF201 [*] SAFE costs time.\n"


def test_standard_input_without_a_name(monkeypatch: pytest.MonkeyPatch, capsys: Output) -> None:
    pipe(monkeypatch, b"x = SAFE\n")
    assert main(["check", "-", "--output-format", "json"]) == 1
    assert json.loads(capsys.readouterr().out)[0]["filename"] == "-"


@pytest.mark.parametrize("before", [b"x = SAFE\r\ny = RISKY", b"\xef\xbb\xbfx = SAFE\n", b"x = 1\n", b""])
def test_fixed_standard_input_goes_to_standard_output(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes], before: bytes
) -> None:
    pipe(monkeypatch, before)
    assert main(["check", "-", "--fix", "--output-format", "concise"]) == (b"RISKY" in before)
    out, err = capfdbinary.readouterr()
    assert out == before.replace(b"SAFE", b"sum")
    assert (b"-:2:5: PPF101" in err) is (b"RISKY" in before)


def test_undecodable_standard_input_is_passed_on_unchanged(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    pipe(monkeypatch, b"x = '\xff' SAFE\n")
    assert main(["check", "-", "--fix", "-q"]) == 1
    out, err = capfdbinary.readouterr()
    assert out == b"x = '\xff' SAFE\n"
    assert b"PPF003" in err


def test_excluded_standard_input_is_passed_on_unchanged(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    Path("perflint.toml").write_text("exclude = ['third_party']\n")
    pipe(monkeypatch, b"x = SAFE\n")
    arguments = ["check", "-", "--stdin-filename", "third_party/a.py", "--fix", "-q", "--force-exclude"]
    assert main(arguments) == 0
    assert capfdbinary.readouterr() == (b"x = SAFE\n", b"")


def test_a_diff_of_standard_input(monkeypatch: pytest.MonkeyPatch, capsys: Output) -> None:
    pipe(monkeypatch, b"x = SAFE\n")
    assert main(["check", "-", "--stdin-filename", "a.py", "--diff", "-q"]) == 1
    assert capsys.readouterr().out == "--- a.py\n+++ a.py\n@@ -1 +1 @@\n-x = SAFE\n+x = sum\n"
    assert not Path("a.py").exists()


# --- rule, config, version


def test_rule_explains_one_rule_by_code_or_name(capsys: Output) -> None:
    for word in ("PPF201", "ppf201", "host-sync-in-step"):
        assert main(["rule", word]) == 0
        assert capsys.readouterr().out.startswith("# PPF201 host-sync-in-step\n")


def test_rule_lists_and_explains_all(capsys: Output) -> None:
    assert main(["rule"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(fake_rules.RULES)
    assert [line.split()[1] for line in lines][-1] == "off"
    assert main(["rule", "--all"]) == 0
    assert capsys.readouterr().out.count("## Why it costs") == len(fake_rules.RULES)


def test_rule_as_json(capsys: Output) -> None:
    assert main(["rule", "PPF101", "--output-format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["name"] == "dataloader-no-workers"
    assert main(["rule", "--all", "--output-format", "json"]) == 0
    assert [page["code"] for page in json.loads(capsys.readouterr().out)] == list(fake_rules.RULES)


def test_an_unknown_rule_gets_a_near_match(capsys: Output) -> None:
    assert main(["rule", "host-sync-in-stp"]) == 2
    assert "did you mean host-sync-in-step?" in capsys.readouterr().err


def test_config_shows_values_and_where_they_come_from(tmp_path: Path, capsys: Output) -> None:
    Path("perflint.toml").write_text("log-interval = 50\n")
    assert main(["config", "--ignore", "PPF101"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert f"log-interval = 50  # {tmp_path / 'perflint.toml'}" in lines
    assert 'ignore = ["PPF101"]  # command line' in lines
    assert "default-workers = 4  # default" in lines


def test_config_of_another_directory(tmp_path: Path, capsys: Output) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "perflint.toml").write_text("log-interval = 7\n")
    assert main(["config", "other"]) == 0
    assert "log-interval = 7" in capsys.readouterr().out


def test_version(monkeypatch: pytest.MonkeyPatch, capsys: Output, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path), str(ROOT), str(tmp_path / "missing")])
    assert main(["--version"]) == 0
    assert capsys.readouterr() == (f"perflint {__version__}\n", "")


@pytest.mark.parametrize("kind", [".dist-info", ".egg-info"])
def test_version_fails_when_the_other_perflint_is_installed(
    monkeypatch: pytest.MonkeyPatch, capsys: Output, tmp_path: Path, kind: str
) -> None:
    place = tmp_path / f"perflint-0.8.1{kind}"
    place.mkdir()
    text = "Metadata-Version: 2.1\nName: perflint\nVersion: 0.8.1\n"
    (place / ("METADATA" if kind == ".dist-info" else "PKG-INFO")).write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert main(["--version"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    for part in ("0.8.1", "Pylint plugin", "pip uninstall -y perflint perflint-paddle", "pip install perflint-paddle"):
        assert part in err


def test_version_does_not_take_itself_or_a_leftover_for_the_other(
    monkeypatch: pytest.MonkeyPatch, capsys: Output, tmp_path: Path
) -> None:
    (tmp_path / "perflint_paddle-0.1.0.dist-info").mkdir()
    (tmp_path / "perflint-notes.txt").touch()
    monkeypatch.setattr(sys, "path", [str(tmp_path), str(ROOT)])
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"perflint {__version__}\n"


def test_version_fails_when_files_of_the_package_are_gone(monkeypatch: pytest.MonkeyPatch, capsys: Output) -> None:
    import perflint

    monkeypatch.setattr(sys, "path", [str(ROOT)])
    monkeypatch.delattr(perflint, "__version__")
    assert main(["--version"]) == 2
    assert "pip install perflint-paddle" in capsys.readouterr().err


# --- processes


@pytest.mark.skipif(os.name != "posix", reason="pipes of POSIX")
def test_a_reader_that_goes_away_is_no_error_and_the_status_stays_true() -> None:
    write(a="SAFE\n" * 5_000)
    with process(["check", "a.py"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.read(10)
        running.stdout.close()
        assert running.stderr.read() == b""
        assert running.wait() == 1


@pytest.mark.skipif(os.name != "posix", reason="terminals of POSIX")
def test_there_is_colour_on_a_terminal() -> None:
    import pty

    write(a="SAFE\n")
    master, slave = pty.openpty()
    environ = {**os.environ, "TERM": "xterm"}
    with process(["check", "a.py", "-q"], stdout=slave, stderr=subprocess.PIPE, env=environ) as running:
        os.close(slave)
        assert b"\x1b[1;31mPPF201" in os.read(master, 1_000)
        assert running.wait() == 1
    os.close(master)


def test_text_that_the_output_cannot_hold_is_escaped() -> None:
    write(a="\u635f\u5931 = SAFE\n")
    environ = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    with process(["check", "a.py", "-q"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environ) as running:
        out, err = running.communicate()
    assert err == b""
    assert b"\\u635f" in out


def test_a_path_that_is_no_text_is_shown_and_checked() -> None:
    try:
        Path(os.fsdecode(b"\xff.py")).write_text("SAFE\n")
    except (OSError, UnicodeError):
        pytest.skip("this file system takes text names only")
    with process(["check", "--diff"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        out, _ = running.communicate()
    assert out.startswith(b"--- \xff.py\n")
    with process(["check", "--output-format", "concise"], stdout=subprocess.PIPE) as running:
        out, _ = running.communicate()
    assert out.startswith(b"\\udcff.py:1:1: PPF201")


def test_the_real_rules_fix_a_real_script_and_a_second_run_changes_nothing() -> None:
    before = "\r\n".join(
        (
            "# -*- coding: gbk -*-",
            "import paddle",
            "def train(model, dataset, optimizer):",
            "\tloader = paddle.io.DataLoader(dataset, batch_size=8)  # \u8bad\u7ec3",
            "\tfor step, (x, y) in enumerate(loader):",
            "\t\tloss = paddle.nn.functional.cross_entropy(model(x), y)",
            "\t\tloss.backward()",
            "\t\toptimizer.step()",
            "\t\toptimizer.clear_grad()",
            '\t\tprint("\u635f\u5931", loss.item())',
        )
    )
    Path("a.py").write_bytes(before.encode("gbk"))

    def run(*arguments: str) -> tuple[int, str]:
        command = [sys.executable, "-m", "perflint", "check", "a.py", *arguments]
        environ = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(command, capture_output=True, text=True, env=environ, check=False)
        assert "Traceback" not in done.stderr
        return done.returncode, done.stdout

    assert run("--fix", "-q", "--output-format", "concise")[0] == 1
    safe = before.replace("\t\tprint(", "\t\tif step % 10 == 0:\r\n\t\t\tprint(")
    assert Path("a.py").read_bytes() == safe.encode("gbk")

    status, out = run("--fix", "--unsafe-fixes")
    assert (status, out) == (0, "Found 1 finding in 1 file (1 fixed, 0 remaining).\n")
    both = safe.replace("batch_size=8)", "batch_size=8, num_workers=4)")
    assert Path("a.py").read_bytes() == both.encode("gbk")
    assert run("--fix", "--unsafe-fixes") == (0, "No findings.\n")
    assert Path("a.py").read_bytes() == both.encode("gbk")


def test_starting_imports_nothing_heavy() -> None:
    code = "import sys, perflint.cli; perflint.cli._parser(); print(*sys.modules)"
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environ)
    assert not {"libcst", "yaml", "pathspec", "ast", "json", "multiprocessing"} & set(done.stdout.split())


def test_python_m_perflint_is_the_same_command() -> None:
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    for module in ("perflint", "perflint.cli"):
        done = subprocess.run(
            [sys.executable, "-m", module, "check", "gone.py"], capture_output=True, text=True, env=environ, check=False
        )
        assert done.returncode == 2
        assert "gone.py" in done.stderr
