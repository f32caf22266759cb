"""What findings look like in each format."""

from __future__ import annotations

import io
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from perflint import catalogue
from perflint.findings import Edit, Finding, Fix, Level, Related
from perflint.fixer import FixOutcome
from perflint.output import concise, diff, full, statistics, summary
from perflint.output import json as json_output
from perflint.output.colour import Palette, wants_colour
from perflint.output.frame import frame
from perflint.output.progress import Progress
from perflint.output.report import Report
from perflint.output.rule_page import data, text
from perflint.output.width import LIMIT, char_width, clip, show
from perflint.source import LineTable, Source, decode
from tests import fake_rules

TEXT = """\
import paddle
for x in loader:
    total += loss.item()
    done()
loader = DataLoader(data)
"""


@pytest.fixture(autouse=True)
def fake_catalogue(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "shipped", lambda: fake_rules.RULES)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def at(text: str, part: str) -> tuple[int, int]:
    assert text.count(part) == 1
    return text.index(part), text.index(part) + len(part)


def finding(code: str, part: str, new: str | None, level: Level = Level.SAFE, source: str = TEXT) -> Finding:
    """A finding on the only ``part`` of the text, with a fix that writes ``new`` there."""
    span = at(source, part)
    reason = "" if level is Level.SAFE else "the shuffle order changes"
    fix = None if new is None else Fix("Change it", (Edit(*span, new),), level, reason)
    return Finding(code, "a.py", *span, "It costs time.", fix)


SAFE = finding("PPF201", "loss.item()", "loss.detach()")
UNSAFE = finding("PPF101", "DataLoader(data)", "DataLoader(data, num_workers=4)", Level.UNSAFE)
SHOWN = finding("PPF401", "done()", "<N>", Level.DISPLAY)
PLAIN = finding("PPF201", "loader:", None)


def report(*findings: Finding, source: str = TEXT, applicable: Level = Level.SAFE, colour: bool = False) -> Report:
    return Report(findings, {"a.py": Source("a.py", source)}, applicable, Palette(colour))


def rendered(render: Callable[[Report], Iterator[str]], shown: Report) -> str:
    return "".join(render(shown))


# --- full


def test_full_shows_place_code_frame_bottleneck_fix_and_related_places() -> None:
    related = replace(SAFE, related=(Related("a.py", 2, "the loop"),))
    assert rendered(full.render, report(related)).splitlines() == [
        "a.py:3:14 PPF201 [safe fix] It costs time.",
        "  |",
        "2 | for x in loader:",
        "3 |     total += loss.item()",
        "  |              ^^^^^^^^^^^",
        "4 |     done()",
        "  |",
        "  = bottleneck: sync (host-sync-in-step)",
        "  = fix (safe): Change it",
        "    3 -     total += loss.item()",
        "      +     total += loss.detach()",
        "  = see a.py:2: the loop",
        "",
    ]


def test_full_names_the_level_and_its_reason() -> None:
    lines = rendered(full.render, report(UNSAFE, SHOWN, PLAIN)).splitlines()
    assert "a.py:5:10 PPF101 [unsafe fix] It costs time." in lines
    assert "  = fix (unsafe): Change it" in lines
    assert "  = reason: the shuffle order changes" in lines
    assert "a.py:4:5 PPF401 [suggestion] It costs time." in lines
    assert "  = suggestion (never applied): Change it" in lines
    assert "a.py:2:10 PPF201 It costs time." in lines


def test_full_shows_the_import_that_a_fix_adds() -> None:
    start, end = at(TEXT, "done()")
    shown = Finding(
        "PPF201", "a.py", start, end, "m", Fix("f", (Edit(start, end, "go()"),), Level.SAFE, "", ("import os",))
    )
    lines = rendered(full.render, report(shown)).splitlines()
    assert lines[-5:] == ["      + import os", "    .", "    4 -     done()", "      +     go()", ""]


def test_full_shows_a_file_that_could_not_be_read_without_a_frame() -> None:
    gone = Finding("PPF003", "gone.py", 0, 0, "It cannot be read.")
    assert rendered(full.render, report(gone)) == "gone.py:1:1 PPF003 It cannot be read.\n\n"


def test_full_cuts_a_fix_of_very_many_lines() -> None:
    many = "".join(f"x{number} = {number}\n" for number in range(100))
    fix = Fix("f", tuple(Edit(match.start(), match.start() + 1, "y") for match in re.finditer("x", many)), Level.SAFE)
    shown = rendered(full.render, report(Finding("PPF201", "a.py", 0, 2, "m", fix), source=many))
    assert "... 176 more lines (all of them: --diff)" in shown
    assert "x50" not in shown


def test_full_marks_the_lines_between_the_changes_of_a_fix() -> None:
    source = "a\nb\nc\nd\n"
    edits = (Edit(0, 1, "A"), Edit(2, 2, "new\n"), Edit(6, 7, "D"))
    shown = report(Finding("PPF201", "a.py", 0, 1, "m", Fix("f", edits, Level.SAFE)), source=source)
    lines = rendered(full.render, shown).splitlines()
    assert lines[lines.index("  = fix (safe): f") + 1 :] == [
        "    1 - a",
        "      + A",
        "      + new",
        "    .",
        "    4 - d",
        "      + D",
        "",
    ]


def test_full_keeps_the_reason_to_itself_when_a_fix_is_safe() -> None:
    assert SAFE.fix is not None
    shown = replace(SAFE, fix=replace(SAFE.fix, reason="only for the unsafe variant"))
    assert "reason" not in rendered(full.render, report(shown))


def carets(source: str, part: str) -> tuple[str, str]:
    """The shown line of ``part`` and the carets below it, without the gutter."""
    lines = list(frame(LineTable(source), *at(source, part), Palette()))
    row = next(number for number, line in enumerate(lines) if "^" in line)
    return lines[row - 1][4:], lines[row][4:]


def test_carets_stand_under_the_range_behind_wide_characters() -> None:
    # Each of the two Chinese characters takes two columns.
    assert carets("\u635f\u5931 = f(x)\n", "f(x)") == ("\u635f\u5931 = f(x)", "       ^^^^")


def test_carets_are_as_wide_as_the_wide_characters_above_them() -> None:
    assert carets("x = '\u635f\u5931'\n", "'\u635f\u5931'")[1] == "    ^^^^^^"


def test_carets_stand_under_the_range_behind_tabs_and_combining_characters() -> None:
    assert carets("if a:\n\tif b:\n\t\tf(x)\n", "f(x)") == ("        f(x)", "        ^^^^")
    assert carets("e\u0301 = f(x)\n", "f(x)")[1] == "    ^^^^"


def test_a_range_of_several_rows_is_underlined_without_its_indentation() -> None:
    source = "a = 1\nb = f(\n    x,\n\n    y,\n)\nc = 2\n"
    assert list(frame(LineTable(source), *at(source, "f(\n    x,\n\n    y,\n)"), Palette())) == [
        "  |",
        "1 | a = 1",
        "2 | b = f(",
        "  |     ^^",
        "3 |     x,",
        "  |     ^^",
        "4 |",
        "5 |     y,",
        "  |     ^^",
        "6 | )",
        "  | ^",
        "7 | c = 2",
        "  |",
    ]


def test_a_long_range_is_shown_by_its_ends() -> None:
    source = "f(\n" + "".join(f"    a{number},\n" for number in range(50)) + ")\n"
    lines = list(frame(LineTable(source), 0, len(source) - 1, Palette()))
    assert " 1 | f(" in lines
    assert ".. |" in lines
    assert "52 | )" in lines
    assert not any("a25" in line for line in lines)


@pytest.mark.parametrize("source", ["", "x", "x\n", "\n", "x\r\ny"])
def test_a_frame_at_the_end_of_the_text(source: str) -> None:
    lines = list(frame(LineTable(source), len(source), len(source), Palette()))
    assert sum("^" in line for line in lines) == 1


def test_a_very_long_line_is_cut_around_the_range() -> None:
    line = "\u635f" * 500 + "f(x)" + "y" * 500
    text, left, right = clip(line, 500, 504)
    assert text.startswith("\u2026")
    assert text.endswith("\u2026")
    assert sum(map(char_width, text)) <= LIMIT + 2
    # The columns are those of the text as it is shown.
    shown = "".join(char * char_width(char) for char in text)
    assert shown[left:right] == "f(x)"


def test_control_characters_cannot_steer_the_terminal() -> None:
    assert show("a\x1b[2Jb\x07\x7f\x9b").text == "a\u241b[2Jb\u2407\u2421\ufffd"


# --- concise, statistics


def test_concise_is_one_line_a_finding_with_a_mark() -> None:
    lines = rendered(concise.render, report(SAFE, UNSAFE, SHOWN, PLAIN)).splitlines()
    assert lines == [
        "a.py:3:14: PPF201 [*] It costs time.",
        "a.py:5:10: PPF101 [u] It costs time.",
        "a.py:4:5: PPF401 [d] It costs time.",
        "a.py:2:10: PPF201 [-] It costs time.",
    ]


def test_unsafe_fixes_count_as_applicable_when_asked_for() -> None:
    lines = rendered(concise.render, report(SAFE, UNSAFE, SHOWN, applicable=Level.UNSAFE)).splitlines()
    assert [line.split()[2] for line in lines] == ["[*]", "[*]", "[d]"]


def test_columns_count_code_points() -> None:
    source = "\u635f\u5931\U0001f600 = DataLoader(data)\n"
    shown = finding("PPF101", "DataLoader(data)", None, source=source)
    assert rendered(concise.render, report(shown, source=source)).startswith("a.py:1:7: ")


def test_statistics_count_each_code_and_how_much_of_it_is_fixable() -> None:
    shown = report(SAFE, UNSAFE, SHOWN, PLAIN)
    assert rendered(statistics.render, shown).splitlines() == [
        "2  PPF201  [-]  host-sync-in-step",
        "1  PPF101  [ ]  dataloader-no-workers",
        "1  PPF401  [ ]  save-in-step-loop",
    ]
    assert "1  PPF101  [*]" in rendered(statistics.render, report(UNSAFE, applicable=Level.UNSAFE))


def test_statistics_line_up_and_the_largest_count_comes_first() -> None:
    lines = rendered(statistics.render, report(UNSAFE, *[SAFE] * 12)).splitlines()
    assert lines == ["12  PPF201  [*]  host-sync-in-step", " 1  PPF101  [ ]  dataloader-no-workers"]


def test_statistics_as_json() -> None:
    assert json.loads(rendered(statistics.render_json, report(SAFE, PLAIN))) == [
        {"code": "PPF201", "name": "host-sync-in-step", "count": 2, "fixable": False, "fixable_count": 1}
    ]


# --- json


def only(shown: Report) -> dict[str, object]:
    (item,) = json.loads(rendered(json_output.render, shown))
    assert isinstance(item, dict)
    return item


def test_json_has_ruffs_keys_and_ours(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    start, end = UNSAFE.start, UNSAFE.end
    related = (Related("b.py", 7, "the loop"),)
    item = only(report(Finding("PPF101", "a.py", start, end, "It costs time.", UNSAFE.fix, related)))
    assert item == {
        "cell": None,
        "code": "PPF101",
        "name": "dataloader-no-workers",
        "message": "It costs time.",
        "severity": "warning",
        "bottleneck": "I/O",
        "confidence": "high",
        "filename": str(tmp_path / "a.py"),
        "location": {"row": 5, "column": 10},
        "end_location": {"row": 5, "column": 26},
        "noqa_row": 5,
        "fix": {
            "applicability": "unsafe",
            "message": "Change it",
            "reason": "the shuffle order changes",
            "edits": [
                {
                    "content": "DataLoader(data, num_workers=4)",
                    "location": {"row": 5, "column": 10},
                    "end_location": {"row": 5, "column": 26},
                }
            ],
        },
        "related": [{"filename": str(tmp_path / "b.py"), "row": 7, "message": "the loop"}],
        "url": fake_rules.RULES["PPF101"].url,
    }


def test_json_has_the_keys_that_ruff_writes(tmp_path: Path) -> None:
    ruff = shutil.which("ruff") or shutil.which("ruff", path=str(Path(sys.executable).parent))
    if ruff is None:
        pytest.skip("ruff is not installed")
    (tmp_path / "a.py").write_text("import os\n")
    command = [ruff, "check", "--isolated", "--output-format", "json", "a.py"]
    theirs = json.loads(subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).stdout)[0]
    ours = only(report(SAFE))
    assert theirs.keys() <= ours.keys()
    assert ours.keys() - theirs.keys() <= {"bottleneck", "confidence", "related", "severity"}
    fix = ours["fix"]
    assert isinstance(fix, dict)
    assert fix.keys() - theirs["fix"].keys() == {"reason"}
    assert fix["edits"][0].keys() == theirs["fix"]["edits"][0].keys()
    assert fix["edits"][0]["location"].keys() == theirs["location"].keys()


def test_json_without_findings_is_an_empty_list() -> None:
    assert json.loads(rendered(json_output.render, report())) == []


def test_json_of_a_finding_without_a_fix() -> None:
    assert only(report(PLAIN))["fix"] is None


def test_json_columns_are_code_points_and_rows_count_every_line_end() -> None:
    source = "a = 1\r\n\u635f\u5931\U0001f600 = f(\r\n    x)\r\n"
    start, end = at(source, "f(\r\n    x)")
    item = only(report(Finding("PPF201", "a.py", start, end, "m"), source=source))
    assert item["location"] == {"row": 2, "column": 7}
    assert item["end_location"] == {"row": 3, "column": 7}


def test_json_noqa_row_is_the_first_row_of_the_statement() -> None:
    source = "f(\n    g(x),\n)\n"
    start, end = at(source, "g(x)")
    item = only(report(Finding("PPF201", "a.py", start, end, "m", statement=(0, len(source) - 1)), source=source))
    assert item["location"] == {"row": 2, "column": 5}
    assert item["noqa_row"] == 1


def test_json_of_a_file_that_could_not_be_checked() -> None:
    item = only(report(Finding("PPF003", "/gone.py", 0, 0, "m")))
    assert (item["noqa_row"], item["bottleneck"], item["severity"]) == (None, None, "error")
    assert item["location"] == item["end_location"] == {"row": 1, "column": 1}


def test_json_edits_give_the_fixed_text_when_another_program_applies_them() -> None:
    start, end = at(TEXT, "done()")
    fix = Fix("f", (Edit(start, end, "go()"), Edit(len(TEXT), len(TEXT), "end()\n")), Level.SAFE, "", ("import os",))
    item = only(report(Finding("PPF201", "a.py", start, end, "m", fix)))
    lines = TEXT.splitlines(keepends=True)

    def offset(place: Mapping[str, int]) -> int:
        return sum(map(len, lines[: place["row"] - 1])) + place["column"] - 1

    result = TEXT
    written = item["fix"]
    assert isinstance(written, dict)
    for edit in reversed(written["edits"]):
        result = result[: offset(edit["location"])] + edit["content"] + result[offset(edit["end_location"]) :]
    assert result == TEXT.replace("done()", "go()").replace("paddle\n", "paddle\nimport os\n") + "end()\n"


def test_json_is_ascii_whatever_the_path_and_the_text() -> None:
    strange = Finding("PPF201", "/\u8bad\u7ec3/\udcff.py", 0, 0, "\u635f")
    written = rendered(json_output.render, report(strange))
    assert written.isascii()
    assert json.loads(written)[0]["filename"] == "/\u8bad\u7ec3/\udcff.py"


# --- the closing line


def outcome(
    remaining: tuple[Finding, ...], fixed: Mapping[tuple[str, str], int], level: Level = Level.SAFE
) -> FixOutcome:
    return FixOutcome(level, (), {}, remaining, fixed)


@pytest.mark.parametrize(
    ("findings", "applicable", "line"),
    [
        ([], Level.SAFE, "No findings in 3 files."),
        ([PLAIN], Level.SAFE, "Found 1 finding in 1 file."),
        ([SAFE, SAFE, PLAIN], Level.SAFE, "Found 3 findings in 1 file (2 fixable with --fix)."),
        (
            [SAFE, UNSAFE, SHOWN],
            Level.SAFE,
            "Found 3 findings in 1 file (1 fixable with --fix; 1 more with --unsafe-fixes).",
        ),
        ([UNSAFE, SHOWN], Level.SAFE, "Found 2 findings in 1 file (1 fixable with --fix --unsafe-fixes)."),
        ([SAFE, UNSAFE], Level.UNSAFE, "Found 2 findings in 1 file (2 fixable with --fix --unsafe-fixes)."),
    ],
)
def test_the_closing_line_of_a_look(findings: list[Finding], applicable: Level, line: str) -> None:
    assert summary.found(findings, 3, applicable) == line


def test_the_closing_line_of_a_fix() -> None:
    remaining = (PLAIN, UNSAFE, UNSAFE, SHOWN)
    fixed = {("b.py", "PPF201"): 2, ("a.py", "PPF201"): 1}
    line = "Found 7 findings in 2 files (3 fixed, 4 remaining; 2 more with --unsafe-fixes)."
    assert summary.fixed(outcome(remaining, fixed)) == line
    assert (
        summary.fixed(outcome(remaining, fixed, Level.UNSAFE)) == "Found 7 findings in 2 files (3 fixed, 4 remaining)."
    )
    assert summary.fixed(outcome((), {("a.py", "PPF201"): 1})) == "Found 1 finding in 1 file (1 fixed, 0 remaining)."
    assert summary.fixed(outcome((), {})) == "No findings."


def test_the_closing_line_of_a_diff() -> None:
    line = "Found 2 findings in 1 file (1 would be fixed, 1 would remain; 1 more with --unsafe-fixes)."
    assert summary.would_fix(outcome((UNSAFE,), {("a.py", "PPF201"): 1})) == line


# --- diff


def test_a_diff_names_the_file_and_shows_the_change() -> None:
    lines = diff.unified(Source("a.py", "a\nb\nc\n"), Source("a.py", "a\nB\nc\n"))
    assert lines == ["--- a.py\n", "+++ a.py\n", "@@ -1,3 +1,3 @@\n", " a\n", "-b\n", "+B\n", " c\n"]


def test_a_diff_of_a_last_line_without_line_end_says_so() -> None:
    lines = diff.unified(Source("a.py", "a\nb"), Source("a.py", "a\nc\n"))
    assert lines[-2:] == ["-b\n\\ No newline at end of file\n", "+c\n"]


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
    lines = diff.unified(source, Source(name, source.text.replace("OLD", "NEW"), source.encoding, source.bom))
    patch = diff.encode(lines, source)
    subprocess.run([git, "apply", "-p0", "--whitespace=nowarn"], cwd=tmp_path, input=patch, check=True)
    assert (tmp_path / name).read_bytes() == before.replace(b"OLD", b"NEW")


def test_a_diff_on_a_terminal_is_coloured_line_by_line() -> None:
    lines = diff.unified(Source("a.py", "a\r\n"), Source("a.py", "b\r\n"))
    assert list(diff.paint(lines, Palette(True)))[3:] == ["\x1b[31m-a\x1b[0m\n", "\x1b[32m+b\x1b[0m\n"]


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
        (Terminal(), {"TERM": "dumb"}, False),
    ],
)
def test_when_there_is_colour(stream: io.StringIO, environ: dict[str, str], expected: bool) -> None:
    assert wants_colour(stream, environ) is expected


def test_colour_adds_codes_and_changes_no_text() -> None:
    for render in (full.render, concise.render, statistics.render):
        plain = rendered(render, report(SAFE, UNSAFE, SHOWN))
        painted = rendered(render, report(SAFE, UNSAFE, SHOWN, colour=True))
        assert "\x1b[" in painted
        assert "\x1b" not in plain
        assert re.sub(r"\x1b\[[0-9;]*m", "", painted) == plain


def test_the_progress_bar_appears_only_after_a_while_and_is_wiped() -> None:
    now = [0.0]
    stream = Terminal()
    progress = Progress(stream, clock=lambda: now[0])
    progress(1, 4)
    assert stream.getvalue() == ""
    now[0] = 0.6
    progress(2, 4)
    assert stream.getvalue().endswith("] 2/4 files")
    assert stream.getvalue().count("#") == stream.getvalue().count(".")
    shown = stream.getvalue()
    now[0] = 0.65
    progress(3, 4)
    assert stream.getvalue() == shown
    progress.clear()
    assert stream.getvalue() == shown + "\r\x1b[K"


@pytest.mark.parametrize(("stream", "enabled"), [(io.StringIO(), True), (Terminal(), False)])
def test_there_is_no_progress_bar_off_a_terminal_or_when_it_is_not_wanted(stream: io.StringIO, enabled: bool) -> None:
    now = [0.0]
    progress = Progress(stream, enabled, clock=lambda: now[0])
    now[0] = 60.0
    progress(1, 2)
    progress.clear()
    assert stream.getvalue() == ""


# --- the page of a rule


def test_the_page_of_a_rule_holds_all_its_parts() -> None:
    page = text(fake_rules.RULES["PPF401"])
    headings = [line for line in page.splitlines() if line.startswith("#")]
    assert headings == [
        "# PPF401 save-in-step-loop",
        "## Why it costs",
        "## When to leave it",
        "## The fix",
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
        "- https://example.org/a\n- https://example.org/b\n",
    ):
        assert part in page


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
    assert page["references"] == ["https://example.org/a", "https://example.org/b"]
    assert page["url"] == rule.url
