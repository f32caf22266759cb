"""``--output``, and what goes where when there are several outputs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from perflint import catalogue
from perflint.cli import main
from perflint.commands import watch
from perflint.commands.watch import Clock
from perflint.output import sarif
from perflint.output.formats import FOR_PEOPLE, FORMATS
from tests.cli_runs import PRELUDE, ROOT, Output, pipe, write

pytestmark = pytest.mark.usefixtures("cli_workplace")


def codes(path: str) -> list[str]:
    return [item["code"] for item in json.loads(Path(path).read_text())]


def test_a_run_gives_a_log_and_files(capsys: Output) -> None:
    write(a="SAFE\n")
    assert main(["check", "--output", "json:out.json", "--output", "concise:out.txt"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("a.py:1:1 PPF201 [safe fix] SAFE costs time.\n1 | SAFE\n")
    assert codes("out.json") == ["PPF201"]
    assert Path("out.txt").read_text().splitlines() == [
        "a.py:1:1: PPF201 [*] SAFE costs time.",
        "Found 1 finding in 1 file (1 fixable with --fix).",
    ]


def test_an_output_to_a_dash_takes_the_place_of_the_log(capsys: Output) -> None:
    write(a="SAFE\n")
    assert main(["check", "--output", "json:-", "--output", "gitlab:out.json"]) == 1
    assert json.loads(capsys.readouterr().out)[0]["code"] == "PPF201"
    assert json.loads(Path("out.json").read_text())[0]["check_name"] == "PPF201"


def test_an_output_to_a_dash_stands_beside_an_output_file(capsys: Output) -> None:
    write(a="SAFE\n")
    assert main(["check", "--output", "json:-", "--output-format", "concise", "--output-file", "out.txt", "-q"]) == 1
    assert json.loads(capsys.readouterr().out)[0]["code"] == "PPF201"
    assert Path("out.txt").read_text() == "a.py:1:1: PPF201 [*] SAFE costs time.\n"


def test_the_first_colon_ends_the_format(capsys: Output) -> None:
    write(a="SAFE\n")
    assert main(["check", "-q", "--output", "json:C:out.json"]) == 1
    assert codes("C:out.json") == ["PPF201"]


@pytest.mark.parametrize("given", ["sarf:x", "json", "json:", "x.sarif", r"C:\x.sarif"])
def test_an_output_without_a_known_format_or_a_file_is_refused(given: str, capsys: Output) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["check", "--output", given])
    assert stop.value.code == 2
    error = capsys.readouterr().err
    assert repr(given) in error
    assert "FORMAT:FILE" in error
    assert given.startswith("json") or ", ".join(FORMATS) in error


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--output", "json:gone/out.json"], ["--output json:gone/out.json", "no directory gone"]),
        (["--output", "json:there"], ["--output json:there", "a directory"]),
        (["--output-file", "there"], ["--output-file there", "a directory"]),
        (["--output-file", "a.py"], ["--output-file a.py", "Python code"]),
        (["--output", "json:x", "--output", "sarif:./x"], ["json:x", "sarif:./x", "one file"]),
        (["--output", "json:x", "--output-file", "there/../x"], ["json:x", "there/../x", "one file"]),
        (["--output", "json:-", "--output", "sarif:-"], ["json:-", "sarif:-", "standard output"]),
        (["--output", "json:-", "--output-format", "full"], ["json:-", "full", "standard output"]),
        (["--output", "json:x", "--diff"], ["--diff", "--output"]),
        (["--statistics", "--output-format", "sarif"], ["--output-format sarif", "statistics"]),
        (["--group-by", "rule", "--output-format", "json"], ["--output-format json", "--group-by"]),
        (["--group-by", "file", "--statistics"], ["--statistics", "--group-by"]),
        (["--statistics", "--output", "json-lines:-"], ["--output json-lines:-", "statistics"]),
    ],
)
def test_what_cannot_be_written_is_said_before_anything_is_checked(
    arguments: list[str], words: list[str], capsys: Output
) -> None:
    write(a="CRASH\n")
    Path("there").mkdir()
    assert main(["check", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("perflint: ")
    assert err.count("\n") == 1
    for word in words:
        assert word in err
    assert sorted(path.name for path in Path().iterdir()) == ["a.py", "perflint.toml", "there"]


def test_two_names_of_one_file_are_found_out(capsys: Output) -> None:
    write(a="x = 1\n")
    Path("link").symlink_to("out.json")
    assert main(["check", "--output", "json:link", "--output", "sarif:out.json"]) == 2
    assert "one file" in capsys.readouterr().err


def test_a_file_that_cannot_be_written_costs_neither_the_log_nor_the_other_files(
    monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    write(a="SAFE\n")
    Path("full.json").write_text("old")
    sync = os.fsync

    def fail(handle: int) -> None:
        if os.fstat(handle).st_size > 1_000:
            raise OSError(28, "No space left on device")
        sync(handle)

    monkeypatch.setattr(os, "fsync", fail)
    assert main(["check", "--output", "sarif:full.json", "--output", "concise:out.txt"]) == 2
    out, err = capsys.readouterr()
    assert "PPF201" in out
    assert err == "perflint: --output sarif:full.json cannot be written: No space left on device\n"
    assert Path("full.json").read_text() == "old"
    assert "PPF201" in Path("out.txt").read_text()


def test_after_a_fix_the_files_hold_what_remains(capsys: Output) -> None:
    write(a="SAFE\nRISKY\n")
    assert main(["check", "--fix", "--output", "json:out.json"]) == 1
    assert codes("out.json") == ["PPF101"]


def test_beside_statistics_the_files_hold_the_findings(capsys: Output) -> None:
    write(a="SAFE\nSAFE\n")
    assert main(["check", "--statistics", "--output", "json:out.json"]) == 1
    assert capsys.readouterr().out.splitlines()[0] == "2  PPF201  [*]  host-sync-in-step"
    assert codes("out.json") == ["PPF201", "PPF201"]


def test_without_findings_the_files_are_written_all_the_same() -> None:
    write(a="x = 1\n")
    Path("out.json").write_text("of an earlier run")
    assert main(["check", "-q", "--output", "json:out.json"]) == 0
    assert codes("out.json") == []


def test_the_fixed_text_of_standard_input_stays_alone_on_standard_output(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    pipe(monkeypatch, b"SAFE\nRISKY\n")
    assert main(["check", "--fix", "--output", "json:out.json", "-"]) == 1
    assert capfdbinary.readouterr().out == b"sum\nRISKY\n"
    assert codes("out.json") == ["PPF101"]


def test_standard_input_is_reported_under_its_name(monkeypatch: pytest.MonkeyPatch, capsys: Output) -> None:
    Path("src").mkdir()
    pipe(monkeypatch, b"SAFE\n")
    assert main(["check", "-", "--stdin-filename", "src/a.py", "--output", "gitlab:-"]) == 1
    assert json.loads(capsys.readouterr().out)[0]["location"]["path"] == "src/a.py"


def test_more_results_than_github_takes_are_written_with_a_warning(
    monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    write(a="SAFE\nSAFE\n")
    monkeypatch.setattr(sarif, "MOST_RESULTS", 1)
    assert main(["check", "--output", "sarif:out.sarif"]) == 1
    assert capsys.readouterr().err.startswith(
        "warning: 2 findings are in the SARIF report, and GitHub accepts at most 1"
    )
    assert len(json.loads(Path("out.sarif").read_text())["runs"][0]["results"]) == 2
    assert main(["check", "--output", "sarif:out.sarif", "--quiet"]) == 1
    assert capsys.readouterr().err == ""


@pytest.mark.skipif(os.name != "posix", reason="paths of POSIX")
def test_a_path_that_is_no_text_breaks_no_format(capsys: Output) -> None:
    try:
        Path(os.fsdecode(b"\xff.py")).write_text("SAFE\n")
    except (OSError, UnicodeError):
        pytest.skip("this file system takes text names only")
    assert main(["check", *(f"--output={name}:out.{name}" for name in FORMATS)]) == 1
    for_programs = {name: Path(f"out.{name}").read_bytes().decode() for name in FORMATS if name not in FOR_PEOPLE}
    assert all("PPF201" in text for text in for_programs.values())
    log = json.loads(for_programs["sarif"])
    location = log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
    assert location == {"uri": "%FF.py", "uriBaseId": "%SRCROOT%"}
    assert json.loads(for_programs["rdjson"])["diagnostics"][0]["location"]["path"] == "\\xff.py"
    assert Path("out.concise").read_bytes().startswith(rb"\xff.py:1:1: PPF201")


def test_the_help_and_the_documents_name_every_format(capsys: Output) -> None:
    with pytest.raises(SystemExit):
        main(["check", "--help"])
    said = " ".join(capsys.readouterr().out.split()).replace("- ", "-")
    assert f"findings are shown: {', '.join(FORMATS)} (default: full)" in said
    page = (ROOT / "docs" / "reports.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    assert [line.split("`")[1] for line in rows] == list(FORMATS)


def test_each_format_is_imported_when_it_is_asked_for() -> None:
    write(a="SAFE\n")
    code = PRELUDE.format(paths=[str(ROOT)])
    code += "main(['check', '-q', '--no-cache', '--output', 'concise:-'])\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name for name in FORMATS if f"perflint.output.{name.partition('-')[0]}" in done.stdout.split()}
    assert loaded == {"concise"}


def test_a_watch_writes_the_files_anew_each_time(monkeypatch: pytest.MonkeyPatch, capsys: Output) -> None:
    write(a="SAFE\n")
    seen: list[list[str]] = []

    def sleep(seconds: float) -> None:
        if not seen or codes("out.json") != seen[-1]:
            seen.append(codes("out.json"))
            write(a="SAFE\nRISKY\n")
        if len(seen) == 2:
            raise KeyboardInterrupt

    # A session would load the real checks under the fake rules, for all tests that follow.
    no_session = SimpleNamespace(findings=lambda batch: None, get_ready=lambda: None)
    monkeypatch.setattr(watch, "WatchSession", lambda: no_session)
    monkeypatch.setattr(watch, "Clock", lambda: Clock(sleep, lambda: 0.0, lambda: "12:00:00"))
    assert main(["check", "--watch", "--output-format", "concise", "--output", "json:out.json"]) == 0
    assert seen == [["PPF201"], ["PPF201", "PPF101"]]
    assert "a.py:2:1: PPF101" in capsys.readouterr().out


def test_a_watch_shows_people_what_they_can_read(capsys: Output) -> None:
    write(a="SAFE\n")
    assert main(["check", "--watch", "--output", "json:-"]) == 2
    assert "--watch shows findings to people" in capsys.readouterr().err


def test_findings_in_groups(capsys: Output) -> None:
    write(a="RISKY\nSAFE\n", b="SAFE\n")
    arguments = ["check", "--output-format", "concise", "--output", "concise:flat.txt"]
    assert main([*arguments, "--group-by", "rule"]) == 1
    risky, safe, other = Path("flat.txt").read_text().splitlines()[:3]
    closing = "Found 3 findings in 2 files (2 fixable with --fix; 1 more with --unsafe-fixes)."
    names = [f"{code} {catalogue.shipped()[code].name}" for code in ("PPF201", "PPF101")]
    assert capsys.readouterr().out.splitlines() == [
        *(f"{names[0]}: 2 findings", "", safe, other, ""),
        *(f"{names[1]}: 1 finding", "", risky, "", closing),
    ]
    assert main([*arguments, "--group-by", "file"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        *("a.py: 2 findings", "", risky, safe, ""),
        *("b.py: 1 finding", "", other, "", closing),
    ]
    assert main(["check", "--group-by", "rule"]) == 1
    assert "\n\n\n" not in capsys.readouterr().out
