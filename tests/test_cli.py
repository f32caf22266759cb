"""The command line, with a checker whose findings are words in the files: exit status and options."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from perflint import cli
from perflint.cli import main
from perflint.commands import print_report
from perflint.run import engine
from tests.cli_runs import Output, write

pytestmark = pytest.mark.usefixtures("cli_workplace")

# --- exit status


def test_clean_code_exits_0_and_says_how_much_was_checked(capsys: Output) -> None:
    write(a="x = 1\n", b="y = 2\n")
    assert main(["check"]) == 0
    assert capsys.readouterr() == ("No findings in 2 files. None of them uses Paddle.\n", "")


def test_findings_exit_1(capsys: Output) -> None:
    write(a="x = SAFE\n", b="y = RISKY\nz = SHOWN\n")
    assert main(["check", ".", "--output-format", "concise"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "a.py:1:5: PPF201 [*] SAFE costs time.",
        "b.py:1:5: PPF101 [u] RISKY costs time.",
        "b.py:2:5: PPF401 [s] SHOWN costs time.",
        "Found 3 findings in 2 files (1 fixable with --fix; 1 more with --unsafe-fixes).",
    ]


def test_the_last_lines_are_broken_between_words_on_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: Output) -> None:
    monkeypatch.setattr(print_report, "terminal_width", lambda stream: 30)
    write(a="x = SAFE\n", b="y = RISKY\nz = SHOWN\n")
    main(["check", ".", "--output-format", "concise"])
    assert capsys.readouterr().out.endswith(
        "\nFound 3 findings in 2 files (1\n  fixable with --fix; 1 more\n  with --unsafe-fixes).\n"
    )


def test_exit_zero_turns_findings_into_0_but_not_failures(capsys: Output) -> None:
    write(a="x = SAFE\n")
    assert main(["check", "--exit-zero"]) == 0
    assert main(["check", "--diff", "--exit-zero"]) == 0
    assert main(["check", "gone.py", "--exit-zero"]) == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["check", "gone.py"], ["gone.py", "does not exist"]),
        (["check", "--select", "PPF99"], ["--select", "PPF99"]),
        (["check", "--ignore", "no-such-rule"], ["--ignore", "no-such-rule"]),
        (["check", "--config", "gone.toml"], ["gone.toml"]),
        (["check", "-", "a.py"], ["standard input"]),
        (["check", "a.py", "--stdin-filename", "b.py"], ["--stdin-filename"]),
        (["check", "--output-file", "no/such/place"], ["--output-file", "no/such/place"]),
        (["config", "--config", "gone.toml"], ["gone.toml"]),
        (["rule", "PPF999"], ["PPF999"]),
        (["frobnicate"], ["frobnicate"]),
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


@pytest.mark.parametrize("command", ["check", "config"])
def test_all_mistakes_of_a_configuration_are_told_at_once(command: str, capsys: Output) -> None:
    write(a="x = 1\n")
    Path("perflint.toml").write_text("log-interval = 0\nselekt = []\nmin-impact = 1\n")
    assert main([command, "--ignore", "PPF999"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    starts = [f"{Path('perflint.toml').resolve()}:{row}: " for row in (1, 2, 3)] + ["--ignore: "]
    assert [line.startswith(f"perflint: {start}") for line, start in zip(err.splitlines(), starts, strict=True)] == (
        [True] * 4
    )


@pytest.mark.parametrize("command", ["check", "config", "bench", "instrument"])
def test_config_takes_a_file_or_settings(command: str) -> None:
    Path("a=b.toml").write_text("")
    given = ["--config", "log-interval=50", "--config", "a=b.toml", "--config", 'exclude=["x"]', "train.py"]
    options = cli.parse([command, *given])
    assert (options.config, options.config_pairs) == (Path("a=b.toml"), ["log-interval=50", 'exclude=["x"]'])
    options = cli.parse([command, "train.py"])
    assert (options.config, options.config_pairs) == (None, [])


def test_config_shows_a_setting_of_the_command_line(capsys: Output) -> None:
    Path("own.toml").write_text("log-interval = 30\ndefault-workers = 8\n")
    assert main(["config", "--config", "own.toml", "--config", "log-interval=50"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "log-interval = 50  # command line (--config)" in lines
    assert f"default-workers = 8  # {Path('own.toml').resolve()}" in lines


def test_config_takes_one_file_only(capsys: Output) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["check", "--config", "a.toml", "--config", "b.toml"])
    assert stop.value.code == 2
    assert "only one file can be used, not both a.toml and b.toml" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["check", "--no-such-option"], ["check", "-j", "0"]])
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


def test_no_python_files_is_said_and_exits_2(capsys: Output) -> None:
    assert main(["check"]) == 2
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


def test_color_wins_over_the_environment(monkeypatch: pytest.MonkeyPatch, capsys: Output) -> None:
    write(a="SAFE\n")
    monkeypatch.setenv("NO_COLOR", "1")
    assert main(["check", "--color", "always", "--output", "concise:out.txt"]) == 1
    assert "\x1b[" in capsys.readouterr().out
    assert "\x1b" not in Path("out.txt").read_text()
    assert main(["check", "--color", "always", "--diff"]) == 1
    assert "\x1b[32m" in capsys.readouterr().out
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert main(["check", "--color", "never"]) == 1
    assert "\x1b" not in capsys.readouterr().out


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
        "1  PPF101  [u]  dataloader-no-workers",
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
