"""``full``: each finding with its frame, its fix and why."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from perflint.findings import Edit, Finding, Fix, Level, Related
from perflint.output import full
from perflint.output.frame import frame
from perflint.text.colour import Palette
from perflint.text.source import LineTable
from perflint.text.width import LIMIT, char_width, clip, show
from tests.output_samples import PLAIN, SAFE, SHOWN, TEXT, UNSAFE, at, rendered, report

pytestmark = pytest.mark.usefixtures("fake_catalogue")


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
    assert show("a\x1b[2Jb\x07\x7f\x9b").text == r"a\x1b[2Jb\x07\x7f\x9b"
