"""``full``: each finding with its frame, its fix and why."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from perflint.findings import Edit, Finding, Fix, Level, Related
from perflint.output import full
from perflint.output.full import frame
from perflint.text.source import LineTable
from perflint.text.visible import LIMIT, Palette, char_width, clip, show
from tests.output_samples import BATCH, PLAIN, SAFE, SHOWN, TEXT, UNSAFE, at, rendered, report

pytestmark = pytest.mark.usefixtures("fake_catalogue")


def test_full_shows_place_code_frame_cost_edit_and_what_else_is_needed_to_decide() -> None:
    related = replace(UNSAFE, related=(Related("b.py", 2, "the loop"),), impact=BATCH)
    assert rendered(full.render, report(related)).splitlines() == [
        "a.py:5:10 PPF101 [unsafe fix] It costs time.",
        "5 | loader = DataLoader(data)",
        "  |          ^^^^^^^^^^^^^^^^ high impact (I/O): a batch",
        "  + loader = DataLoader(data, num_workers=4)",
        "  = unsafe: the shuffle order changes; see b.py:2: the loop",
        "",
    ]


def test_full_names_the_level_and_its_reason() -> None:
    lines = rendered(full.render, report(UNSAFE, SHOWN, PLAIN)).splitlines()
    assert "a.py:5:10 PPF101 [unsafe fix] It costs time." in lines
    assert "  = unsafe: the shuffle order changes" in lines
    assert "a.py:4:5 PPF401 [suggestion] It costs time." in lines
    assert "  = suggestion: the shuffle order changes" in lines
    assert "a.py:2:10 PPF201 It costs time." in lines


def test_full_does_not_repeat_what_the_message_says() -> None:
    known = replace(PLAIN, message="A wait in the loop at line 2; add up.", related=(Related("a.py", 2, "the loop"),))
    assert "see" not in rendered(full.render, report(known))
    assert "see" in rendered(full.render, report(replace(known, message="A wait; add up.")))
    same = replace(known, fix=Fix("add up", (), Level.DISPLAY))
    assert "add up" not in "".join(rendered(full.render, report(same)).splitlines()[1:])
    assert "= count" in rendered(full.render, report(replace(known, fix=Fix("count", (), Level.DISPLAY))))


def test_full_says_this_for_an_expression_that_the_message_cuts() -> None:
    cut = replace(UNSAFE, message="`DataLoader(d...ta)` uses no worker processes.")
    assert "] This uses no worker processes." in rendered(full.render, report(cut))
    elsewhere = replace(UNSAFE, message="`Dataset(d...ta)` uses no worker processes.")
    assert "] `Dataset(d...ta)` uses no worker processes." in rendered(full.render, report(elsewhere))


def test_full_shows_findings_that_one_edit_repairs_together() -> None:
    other = replace(SAFE, start=at(TEXT, "done()")[0], end=at(TEXT, "done()")[1])
    lines = rendered(full.render, report(SAFE, UNSAFE, other)).splitlines()
    assert [line for line in lines if "PPF" in line] == [
        "a.py:3:14 PPF201 [safe fix] It costs time.",
        "a.py:5:10 PPF101 [unsafe fix] It costs time.",
    ]
    assert "  = the same edit fixes line 4" in lines


def test_full_wraps_and_cuts_for_the_terminal_that_shows_it() -> None:
    long = replace(UNSAFE, message="It costs time. " * 10, impact=BATCH)
    source = TEXT.replace("DataLoader(data)", f"DataLoader(data){' ' * 40}# {'x' * 40}")
    lines = rendered(full.render, replace(report(long, source=source), width=60)).splitlines()
    assert max(map(len, lines)) <= 60
    assert lines[1].startswith("    ")
    assert "  = high impact (I/O); unsafe: the shuffle order changes" not in lines  # it fits behind the carets
    assert any(line.endswith("^ high impact (I/O): a batch") for line in lines)


def test_a_wrapped_message_gives_ci_no_command() -> None:
    steering = replace(PLAIN, message=f"{'x' * 30} ::error::{'y' * 30}")
    lines = rendered(full.render, replace(report(steering), width=60)).splitlines()
    assert not any(line.lstrip().startswith("::") for line in lines)


def test_full_shows_the_line_of_the_finding_first_and_then_the_import_that_its_fix_adds() -> None:
    start, end = at(TEXT, "done()")
    shown = Finding(
        "PPF201", "a.py", start, end, "m", Fix("f", (Edit(start, end, "go()"),), Level.SAFE, "", ("import os",))
    )
    lines = rendered(full.render, report(shown)).splitlines()
    assert lines[3:] == ["  +     go()", "  ...", "  + import os", ""]


def test_full_shows_a_file_that_could_not_be_read_without_a_frame() -> None:
    gone = Finding("PPF003", "gone.py", 0, 0, "It cannot be read.")
    assert rendered(full.render, report(gone)) == "gone.py:1:1 PPF003 It cannot be read.\n\n"


def test_full_cuts_a_fix_of_very_many_lines() -> None:
    many = "".join(f"x{number} = {number}\n" for number in range(100))
    edits = tuple(Edit(match.start(), match.start() + 1, "y") for match in re.finditer("x", many))
    for level, whole in (
        (Level.SAFE, "--diff"),
        (Level.UNSAFE, "--diff --unsafe-fixes"),
        (Level.DISPLAY, "--output-format json"),
    ):
        found = Finding("PPF201", "a.py", 0, 2, "m", Fix("f", edits, level, "reason"))
        lines = rendered(full.render, report(found, source=many)).splitlines()
        assert len(lines) <= 6 + 1
        shown = sum(line.lstrip()[:2] in ("+ ", "- ") or " - x" in line for line in lines) + 1  # the line of the frame
        assert f"  ... {200 - shown} more lines: {whole}" in lines


def test_full_shows_a_line_that_a_fix_takes_out() -> None:
    start, end = at(TEXT, "    done()\n")
    shown = Finding("PPF201", "a.py", start + 4, end - 1, "m", Fix("f", (Edit(start, end, ""),), Level.SAFE))
    assert "4 -     done()" in rendered(full.render, report(shown)).splitlines()


def test_full_keeps_the_reason_to_itself_when_a_fix_is_safe() -> None:
    assert SAFE.fix is not None
    shown = replace(SAFE, fix=replace(SAFE.fix, reason="only for the unsafe variant"))
    assert "reason" not in rendered(full.render, report(shown))


def shown_frame(source: str, start: int, end: int) -> list[str]:
    shown = frame(LineTable(source), start, end, Palette())
    return [shown.code, shown.mark]


def carets(source: str, part: str) -> tuple[str, str]:
    """The shown line of ``part`` and the carets below it, without the gutter."""
    code, mark = shown_frame(source, *at(source, part))
    return code[4:], mark[4:]


def test_carets_stand_under_the_range_behind_wide_characters() -> None:
    # Each of the two Chinese characters takes two columns.
    assert carets("\u635f\u5931 = f(x)\n", "f(x)") == ("\u635f\u5931 = f(x)", "       ^^^^")


def test_carets_are_as_wide_as_the_wide_characters_above_them() -> None:
    assert carets("x = '\u635f\u5931'\n", "'\u635f\u5931'")[1] == "    ^^^^^^"


def test_carets_stand_under_the_range_behind_tabs_and_combining_characters() -> None:
    assert carets("if a:\n\tif b:\n\t\tf(x)\n", "f(x)") == ("        f(x)", "        ^^^^")
    assert carets("e\u0301 = f(x)\n", "f(x)")[1] == "    ^^^^"


def test_of_a_range_of_several_rows_the_first_stands_for_all() -> None:
    source = "a = 1\nb = f(\n    x,\n\n    y,\n)\nc = 2\n"
    assert shown_frame(source, *at(source, "f(\n    x,\n\n    y,\n)")) == ["2 | b = f(", "  |     ^^ ... to line 6"]


@pytest.mark.parametrize("source", ["", "x", "x\n", "\n", "x\r\ny"])
def test_a_frame_at_the_end_of_the_text(source: str) -> None:
    assert shown_frame(source, len(source), len(source))[1].count("^") == 1


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
    assert show("a\x1b[2Jb\x07\x7f\x9b").text == r"a\x1b[2Jb\x07\x7f\x9b"
