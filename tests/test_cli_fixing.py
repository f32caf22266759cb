"""``perflint check`` with ``--fix``, ``--diff`` and standard input, with a checker whose findings are words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from perflint.cli import main
from perflint.findings import Checked, Edit, Finding, Fix, Level
from perflint.fix.fixer import fix_all
from perflint.output import summary
from perflint.run import engine
from perflint.text.source import Source
from tests import fake_rules
from tests.cli_runs import Output, pipe, write

pytestmark = pytest.mark.usefixtures("cli_workplace")

# --- fixing


def test_fix_applies_safe_fixes_and_reports_what_remains(capsys: Output) -> None:
    write(a="x = SAFE\ny = RISKY\nz = SHOWN\n", b="x = SAFE\n", c="x = 1\n")
    assert main(["check", "--fix", "--output-format", "concise"]) == 1
    assert Path("a.py").read_text() == "x = sum\ny = RISKY\nz = SHOWN\n"
    assert Path("b.py").read_text() == "x = sum\n"
    assert capsys.readouterr().out.splitlines() == [
        "a.py:2:5: PPF101 [u] RISKY costs time.",
        "a.py:3:5: PPF401 [s] SHOWN costs time.",
        "Fixed:",
        "  a.py:1 PPF201: Write sum",
        "  b.py:1 PPF201: Write sum",
        "Found 4 findings in 2 of 3 files (2 fixed, 2 remaining; 1 more with --unsafe-fixes).",
    ]


def test_fix_with_unsafe_fixes_applies_both_and_exits_0_when_nothing_remains(capsys: Output) -> None:
    write(a="x = SAFE\ny = RISKY\n")
    assert main(["check", "--fix", "--unsafe-fixes"]) == 0
    assert Path("a.py").read_text() == "x = sum\ny = four\n"
    assert capsys.readouterr().out.splitlines() == [
        "Fixed:",
        "  a.py:2 PPF101: Write four",
        "  a.py:1 PPF201: Write sum",
        "Found 2 findings in 1 file (2 fixed, 0 remaining).",
    ]
    assert main(["check", "--fix", "--unsafe-fixes"]) == 0
    assert Path("a.py").read_text() == "x = sum\ny = four\n"


def test_fixes_of_one_kind_share_a_line(capsys: Output) -> None:
    write(a="x = SAFE\n" * 7 + "y = SAFE, SAFE\n")
    assert main(["check", "--fix"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "Fixed:",
        "  a.py:1, 2, 3, 4, 5 and 3 more PPF201: Write sum",
        "Found 9 findings in 1 file (9 fixed, 0 remaining).",
    ]


def test_a_fix_of_a_later_round_is_listed_by_its_old_row() -> None:
    """Both edits insert at the top, so they are made one after the other."""
    texts = {"ONE": "import one\n", "TWO": "import two\nimport three\n"}

    def found(sources: Mapping[str, Source]) -> list[Finding]:
        text = sources["a.py"].text
        places = [(word, text.find(word)) for word in texts if word in text]
        return [
            Finding("PPF201", "a.py", at, at + 3, "", Fix(f"Write {word.lower()}", edits, Level.SAFE))
            for word, at in places
            for edits in [(Edit(0, 0, texts[word]), Edit(at, at + 3, word.lower()))]
        ]

    before = {"a.py": Source("a.py", "\nx = ONE\ny = TWO\n")}
    outcome = fix_all(before, found, Level.SAFE)
    assert len(outcome.applied) == 2
    assert summary.lines_about_fixes(outcome, before) == [
        "Fixed:",
        "  a.py:2 PPF201: Write one",
        "  a.py:3 PPF201: Write two",
    ]


@pytest.mark.parametrize("options", [["-q"], ["--output-format", "json"], ["--diff"], ["--fix-only", "-q"]])
def test_only_people_are_told_what_was_fixed(options: list[str], capsys: Output) -> None:
    write(a="x = SAFE\n")
    main(["check", "--fix", *options])
    out, err = capsys.readouterr()
    assert "Fixed:" not in out + err
    write(a="x = SAFE\n")
    main(["check", "--fix-only"])
    assert "Fixed:" in capsys.readouterr().out


def test_the_frame_after_a_fix_shows_the_file_as_it_is_now(capsys: Output) -> None:
    write(a="x = SAFE; y = RISKY\n")
    assert main(["check", "--fix"]) == 1
    assert capsys.readouterr().out.splitlines()[1:3] == ["1 | x = sum; y = RISKY", "  |              ^^^^^"]


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

    monkeypatch.setattr("perflint.commands.write_fixes.replace_file", refuse)
    write(a="x = SAFE\n", b="x = SAFE\n")
    assert main(["check", "--fix", "--output-format", "concise"]) == 2
    out, err = capsys.readouterr()
    assert "a.py" in err
    assert "Permission denied" in err
    assert out.splitlines() == [
        "a.py:1:5: PPF201 [*] SAFE costs time.",
        "Fixed:",
        "  b.py:1 PPF201: Write sum",
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
    assert b"cannot be encoded back to the same bytes" in capfdbinary.readouterr().err
    pipe(monkeypatch, before)
    assert main(["check", "-", "--fix"]) == 2
    out, err = capfdbinary.readouterr()
    assert out == before
    assert b"cannot be encoded back to the same bytes" in err


def test_when_there_is_more_to_fix_after_all_rounds_it_is_said(monkeypatch: pytest.MonkeyPatch, capsys: Output) -> None:
    def endless(projects: list[dict[str, Source]], *arguments: object, **options: object) -> list[Checked]:
        fix = Fix("again", (Edit(0, 0, "y\n"),), Level.SAFE)
        return [Checked([Finding("PPF201", path, 0, 1, "m", fix) for path in project]) for project in projects]

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
    assert out == "# a.py:1 PPF201: Write sum\n--- a.py\n+++ a.py\n@@ -1,2 +1,2 @@\n-x = SAFE\n+x = sum\n y = RISKY\n"
    assert err == "Found 2 findings in 1 of 2 files (1 would be fixed, 1 would remain; 1 more with --unsafe-fixes).\n"


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
    assert (
        capsys.readouterr().out == "# a.py:1 PPF201: Write sum\n--- a.py\n+++ a.py\n@@ -1 +1 @@\n-x = SAFE\n+x = sum\n"
    )
    assert not Path("a.py").exists()
