"""The closing line, diffs, colour, progress, and the page of a rule."""

from __future__ import annotations

import io
import json
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from perflint import catalogue
from perflint.commands import write_fixes
from perflint.findings import Finding, Impact, ImpactLevel, Level
from perflint.fix.fixer import FixOutcome
from perflint.output import concise, full, grouped, summary
from perflint.output.console import Progress
from perflint.output.rule_page import data, text
from perflint.text.source import Source, decode
from perflint.text.visible import Palette, palette, wants_colour, wants_links
from tests import fake_rules
from tests.output_samples import BATCH, PLAIN, SAFE, SHOWN, UNSAFE, rendered, report

pytestmark = pytest.mark.usefixtures("fake_catalogue")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


# --- the closing line


FILES = ("a.py", "b.py", "c.py")


def outcome(
    remaining: tuple[Finding, ...], fixed: Mapping[tuple[str, str], int], level: Level = Level.SAFE
) -> FixOutcome:
    return FixOutcome(level, (), {}, remaining, fixed)


@pytest.mark.parametrize(
    ("findings", "applicable", "line"),
    [
        ([], Level.SAFE, "No findings in 3 files."),
        ([PLAIN], Level.SAFE, "Found 1 finding in 1 of 3 files."),
        ([SAFE, SAFE, PLAIN], Level.SAFE, "Found 3 findings in 1 of 3 files (2 fixable with --fix)."),
        (
            [SAFE, UNSAFE, SHOWN],
            Level.SAFE,
            "Found 3 findings in 1 of 3 files (1 fixable with --fix; 1 more with --unsafe-fixes).",
        ),
        ([UNSAFE, SHOWN], Level.SAFE, "Found 2 findings in 1 of 3 files (1 fixable with --fix --unsafe-fixes)."),
        ([SAFE, UNSAFE], Level.UNSAFE, "Found 2 findings in 1 of 3 files (2 fixable with --fix --unsafe-fixes)."),
    ],
)
def test_the_closing_line_of_a_look(findings: list[Finding], applicable: Level, line: str) -> None:
    assert summary.found(findings, FILES, applicable) == line


def test_the_closing_line_of_a_fix() -> None:
    remaining = (PLAIN, UNSAFE, UNSAFE, SHOWN)
    fixed = {("b.py", "PPF201"): 2, ("a.py", "PPF201"): 1}
    line = "Found 7 findings in 2 of 3 files (3 fixed, 4 remaining; 2 more with --unsafe-fixes)."
    assert summary.fixed(outcome(remaining, fixed), FILES) == line
    line = "Found 7 findings in 2 of 3 files (3 fixed, 4 remaining)."
    assert summary.fixed(outcome(remaining, fixed, Level.UNSAFE), FILES) == line
    line = "Found 1 finding in 1 of 3 files (1 fixed, 0 remaining)."
    assert summary.fixed(outcome((), {("a.py", "PPF201"): 1}), FILES) == line
    assert summary.fixed(outcome((), {}), FILES) == "No findings in 3 files."


def test_the_closing_line_of_a_diff() -> None:
    line = "Found 2 findings in 1 of 3 files (1 would be fixed, 1 would remain; 1 more with --unsafe-fixes)."
    assert summary.would_fix(outcome((UNSAFE,), {("a.py", "PPF201"): 1}), FILES) == line


def test_a_file_that_could_not_be_read_counts_among_the_files() -> None:
    assert summary.found([Finding("PPF003", "gone.py", 0, 0, "m")], (), Level.SAFE) == "Found 1 finding in 1 file."
    found = summary.found([Finding("PPF003", "gone.py", 0, 0, "m")], ["a.py"], Level.SAFE)
    assert found == "Found 1 finding in 1 of 2 files."


def test_the_rule_to_read_about_is_that_of_the_finding_to_begin_with() -> None:
    assert summary.explained(report()) == ""
    assert summary.explained(report(Finding("PPF999", "a.py", 0, 1, "m"))) == ""
    assert summary.explained(report(SHOWN, SAFE)) == "Why, and when to ignore it: perflint rule PPF401"
    low = replace(SAFE, impact=Impact(ImpactLevel.LOW, "r", 1.0))
    high = replace(UNSAFE, impact=BATCH)
    assert summary.explained(report(low, low, low, high)).endswith("perflint rule PPF101")


# --- diff


def test_a_diff_names_the_file_and_shows_the_change() -> None:
    lines = write_fixes.unified(Source("a.py", "a\nb\nc\n"), Source("a.py", "a\nB\nc\n"))
    assert lines == ["--- a.py\n", "+++ a.py\n", "@@ -1,3 +1,3 @@\n", " a\n", "-b\n", "+B\n", " c\n"]


def test_a_diff_of_a_last_line_without_line_end_says_so() -> None:
    lines = write_fixes.unified(Source("a.py", "a\nb"), Source("a.py", "a\nc\n"))
    assert lines[-3:] == ["-b\n", "\\ No newline at end of file\n", "+c\n"]


@pytest.mark.parametrize(
    "before",
    [
        b"a = 1\r\nb = OLD\r\nc = 3\r\n",
        b"a = 1\r\nb = OLD\nc = 3",
        b"b = OLD",
        b"\xef\xbb\xbfb = OLD\n",
        "# coding: gbk\n# \u635f\u5931\nb = OLD  # \u635f\n".encode("gbk"),
        b"a = '\x0c\x0b\x1c'\nb = OLD\rc = 1\n",
    ],
)
@pytest.mark.parametrize("name", ["a.py", "a b.py"])
def test_git_applies_the_diff_to_the_very_bytes(tmp_path: Path, before: bytes, name: str) -> None:
    git = shutil.which("git")
    if git is None:
        pytest.skip("git is not installed")
    (tmp_path / name).write_bytes(before)
    source = decode(name, before)
    lines = write_fixes.unified(source, Source(name, source.text.replace("OLD", "NEW"), source.encoding, source.bom))
    patch = write_fixes.encode(lines, source)
    subprocess.run([git, "apply", "-p0", "--whitespace=nowarn"], cwd=tmp_path, input=patch, check=True)
    assert (tmp_path / name).read_bytes() == before.replace(b"OLD", b"NEW")


def test_a_diff_on_a_terminal_is_coloured_line_by_line() -> None:
    lines = write_fixes.unified(Source("a.py", "a\r\n"), Source("a.py", "b\r\n"))
    assert list(write_fixes.paint(lines, Palette(True)))[3:] == ["\x1b[31m-a\x1b[0m\n", "\x1b[32m+b\x1b[0m\n"]


# --- colour and progress


@pytest.mark.parametrize(
    ("stream", "environ", "expected"),
    [
        (Terminal(), {"TERM": "xterm"}, True),
        (io.StringIO(), {"TERM": "xterm"}, False),
        (Terminal(), {"TERM": "xterm", "NO_COLOR": "1"}, False),
        (Terminal(), {"TERM": "xterm", "NO_COLOR": ""}, True),
        (io.StringIO(), {"FORCE_COLOR": "1"}, True),
        (io.StringIO(), {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        (io.StringIO(), {"CLICOLOR_FORCE": "1"}, True),
        (io.StringIO(), {"CLICOLOR_FORCE": "0"}, False),
        (io.StringIO(), {"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, False),
        (Terminal(), {"TERM": "dumb"}, False),
    ],
)
def test_when_there_is_colour(stream: io.StringIO, environ: dict[str, str], expected: bool) -> None:
    assert wants_colour(stream, environ) is expected


def test_the_option_wins_over_the_environment() -> None:
    assert wants_colour(io.StringIO(), {"NO_COLOR": "1", "TERM": "dumb"}, "always")
    assert not wants_colour(Terminal(), {"FORCE_COLOR": "1", "CLICOLOR_FORCE": "1", "TERM": "xterm"}, "never")
    assert wants_colour(Terminal(), {"TERM": "xterm"}, "auto")


@pytest.mark.parametrize(
    ("stream", "environ", "expected"),
    [
        (Terminal(), {"TERM": "xterm"}, False),
        (Terminal(), {"TERM_PROGRAM": "vscode"}, True),
        (Terminal(), {"TERM_PROGRAM": "Apple_Terminal"}, False),
        (Terminal(), {"VTE_VERSION": "5000"}, True),
        (Terminal(), {"VTE_VERSION": "4999"}, False),
        (Terminal(), {"VTE_VERSION": "\u0665000"}, False),
        (Terminal(), {"KITTY_WINDOW_ID": "1"}, True),
        (Terminal(), {"WT_SESSION": "a"}, True),
        (Terminal(), {"WT_SESSION": "a", "TERM": "dumb"}, False),
        (Terminal(), {"FORCE_HYPERLINK": "1"}, True),
        (Terminal(), {"FORCE_HYPERLINK": "0", "WT_SESSION": "a"}, False),
        (io.StringIO(), {"FORCE_HYPERLINK": "1"}, False),
    ],
)
def test_when_there_are_hyperlinks(stream: io.StringIO, environ: dict[str, str], expected: bool) -> None:
    assert wants_links(stream, environ) is expected


def test_a_code_leads_to_the_page_of_its_rule_and_no_other_text_does() -> None:
    url = fake_rules.RULES["PPF201"].url
    link = f"\x1b]8;;{url}\x1b\\\x1b[1;31mPPF201\x1b[0m\x1b]8;;\x1b\\"
    for render in (full.render, concise.render, grouped.render_counts):
        linked = rendered(render, replace(report(SAFE), palette=Palette(True, links=True)))
        assert linked.replace(link, "\x1b[1;31mPPF201\x1b[0m") == rendered(render, report(SAFE, colour=True))
        assert link in linked
    unknown = replace(SAFE, code="PPF999")
    assert "]8;;" not in rendered(concise.render, replace(report(unknown), palette=Palette(True, links=True)))


def test_no_colours_no_hyperlinks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_HYPERLINK", "1")
    assert palette(Terminal(), "always") == Palette(True, links=True)
    assert palette(Terminal(), "never") == Palette()
    assert palette(io.StringIO(), "always") == Palette(True)


def test_colour_adds_codes_and_changes_no_text() -> None:
    for render in (full.render, concise.render, grouped.render_counts):
        plain = rendered(render, report(SAFE, UNSAFE, SHOWN))
        painted = rendered(render, report(SAFE, UNSAFE, SHOWN, colour=True))
        assert "\x1b[" in painted
        assert "\x1b" not in plain
        assert re.sub(r"\x1b\[[0-9;]*m", "", painted) == plain


def test_the_progress_bar_appears_only_after_a_while_and_is_wiped() -> None:
    now = [0.0]
    stream = Terminal()
    progress = Progress(stream, 2, clock=lambda: now[0])
    progress(1, 4)
    assert stream.getvalue() == ""
    now[0] = 0.6
    progress(2, 4)
    assert stream.getvalue().endswith("]  50 % of 2 files")
    assert stream.getvalue().count("#") == stream.getvalue().count(".")
    shown = stream.getvalue()
    now[0] = 0.65
    progress(3, 4)
    assert stream.getvalue() == shown
    progress.clear()
    assert stream.getvalue() == shown + "\r\x1b[K"


def test_the_progress_bar_appears_at_once_where_the_user_has_waited_already() -> None:
    stream = Terminal()
    Progress(stream, 1, since=10.0, clock=lambda: 10.6)(0, 1)
    assert stream.getvalue().endswith("]   0 % of 1 file")


@pytest.mark.parametrize(("stream", "enabled"), [(io.StringIO(), True), (Terminal(), False)])
def test_there_is_no_progress_bar_off_a_terminal_or_when_it_is_not_wanted(stream: io.StringIO, enabled: bool) -> None:
    now = [0.0]
    progress = Progress(stream, 2, enabled, clock=lambda: now[0])
    now[0] = 60.0
    progress(1, 2)
    progress.clear()
    assert stream.getvalue() == ""


# --- the page of a rule


def test_the_page_of_a_rule_holds_all_its_parts() -> None:
    page = text(fake_rules.RULES["PPF401"], full=True)
    headings = [line for line in page.splitlines() if line.startswith("#")]
    assert headings == [
        "# PPF401 save-in-step-loop",
        "## Why it costs",
        "## When to ignore it",
        "## The fix",
        "## Measured",
        "## Examples",
        "### An epoch's sum",
        "### After the loop",
        "## Evidence",
        "## References",
    ]
    for part in (
        "save-in-step-loop in one sentence.",
        "Bottleneck: I/O",
        "On by default: no (turn it on with --extend-select PPF401)",
        "Because the device waits.",
        "The loop is short.",
        "Do it once (unsafe)",
        "The order changes.",
        "Reported (line 1):\n\n    total += loss.item()\n",
        "After the fix (safe):\n\n    total += loss\n",
        "Not reported:\n\n    print(total)\n",
        "Measured: 2.0x.",
        "- https://example.org/a\n  that it waits\n- https://example.org/b\n  how long it waits\n",
    ):
        assert part in page


def test_the_page_that_is_shown_first_is_short_and_says_how_to_see_the_rest() -> None:
    short, full = text(fake_rules.RULES["PPF401"]), text(fake_rules.RULES["PPF401"], full=True)
    assert short.endswith("1 more example, the evidence and the references: perflint rule PPF401 --full\n")
    assert "### An epoch's sum" in short
    assert "### After the loop" not in short
    assert full.startswith(short[: short.index("## Example")])


@pytest.mark.parametrize("rule", catalogue.shipped().values(), ids=lambda rule: rule.code)
def test_no_rule_takes_more_than_a_few_screens_to_decide(rule: catalogue.Rule) -> None:
    assert text(rule).count("\n") < 200


def test_the_data_of_a_rule_is_json_and_holds_the_same() -> None:
    rule = fake_rules.RULES["PPF201"]
    page = json.loads(json.dumps(data(rule)))
    assert page["code"] == "PPF201"
    assert page["fix"] == {"level": "unsafe", "title": "Do it once", "reason": "The order changes."}
    assert page["examples"][0] == {
        "title": "An epoch's sum",
        "bad": "total += loss.item()\n",
        "fixed": "total += loss\n",
        "good": None,
        "lines": [1],
        "level": "safe",
    }
    assert page["references"] == [
        {"url": "https://example.org/a", "shows": "that it waits"},
        {"url": "https://example.org/b", "shows": "how long it waits"},
    ]
    assert page["url"] == rule.url
