"""Applying fixes: one pass, many rounds, and all the bytes around them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import pytest

from perflint.findings import Edit, Finding, Fix, Level, merged
from perflint.fix.fixer import Check, FixOutcome, apply, complete_edits, fix_all
from perflint.text.source import Source, decode

BOM = b"\xef\xbb\xbf"


def fix(*edits: tuple[int, int, str], level: Level = Level.SAFE, imports: tuple[str, ...] = ()) -> Fix:
    return Fix("change it", tuple(Edit(*edit) for edit in edits), level, imports=imports)


def swap(text: str, old: str, new: str, imports: tuple[str, ...] = ()) -> Fix:
    """The fix that replaces the only ``old`` in ``text``."""
    assert text.count(old) == 1
    start = text.index(old)
    return fix((start, start + len(old), new), imports=imports)


def rule(
    pattern: str, replacement: str, code: str = "PPF201", level: Level = Level.SAFE, imports: tuple[str, ...] = ()
) -> Check:
    """A check that reports each match of ``pattern`` with its replacement as the fix."""

    def check(sources: Mapping[str, Source]) -> list[Finding]:
        return [
            Finding(code, path, *match.span(), "found", fix((*match.span(), replacement), level=level, imports=imports))
            for path, source in sources.items()
            for match in re.finditer(pattern, source.text)
        ]

    return check


def both(*checks: Check) -> Check:
    return lambda sources: [finding for check in checks for finding in check(sources)]


def run(check: Check, level: Level = Level.SAFE, **texts: str) -> FixOutcome:
    return fix_all({path: Source(path, text) for path, text in texts.items()}, check, level)


# --- one pass


def test_fixes_apply_in_order_of_place_whatever_order_they_come_in() -> None:
    text = "a = 1\nb = 2\n"
    result = apply(text, [swap(text, "2", "20"), swap(text, "1", "10")])
    assert result.text == "a = 10\nb = 20\n"
    assert len(result.fixes) == 2
    assert result.skipped == ()


def test_a_fix_is_applied_whole_or_not_at_all() -> None:
    first = fix((0, 3, "ONE"))
    clashing = fix((2, 4, "x"), (8, 11, "THREE"))
    result = apply("one two three", [first, clashing])
    assert result.text == "ONE two three"
    assert result.skipped == (clashing,)


def test_a_later_fix_fits_between_the_edits_of_an_earlier_one() -> None:
    result = apply("one two three", [fix((0, 3, "ONE"), (8, 13, "THREE")), fix((4, 7, "TWO"))])
    assert result.text == "ONE TWO THREE"


@pytest.mark.parametrize(
    "second",
    [
        fix((3, 3, "y")),  # another insertion at the same place
        fix((3, 5, "y")),  # a replacement that starts there
        fix((1, 3, "y")),  # a replacement that ends there
    ],
)
def test_edits_that_touch_an_insertion_wait_for_the_next_round(second: Fix) -> None:
    result = apply("abcdef", [fix((3, 3, "x")), second])
    assert len(result.fixes) == 1
    assert len(result.skipped) == 1


def test_lines_added_at_one_place_by_several_fixes_are_added_together() -> None:
    text = "for x in y:\n    a\n    b\nend\n"
    fixes = [swap(text, "a", "A"), swap(text, "b", "B")]
    rows = [Edit(24, 24, "a = float(a)\n"), Edit(24, 24, "b = float(b)\n")]
    together = [Fix("f", (*one.edits, row), Level.SAFE) for one, row in zip(fixes, rows, strict=True)]
    result = apply(text, together)
    assert result.text == "for x in y:\n    A\n    B\na = float(a)\nb = float(b)\nend\n"


@pytest.mark.parametrize(
    "second",
    [
        "    b = 1\n",  # of another depth
        "if b:\n",  # no whole statement
        "b = 1",  # no whole line
        "b = 1\nc = 1\n",  # more than a line
        "else: pass\n",
    ],
)
def test_other_text_added_at_one_place_waits(second: str) -> None:
    result = apply("x\ny\n", [fix((2, 2, "a = 1\n")), fix((2, 2, second))])
    assert len(result.fixes) == len(result.skipped) == 1


def test_an_edit_inside_another_one_waits() -> None:
    result = apply("abcdef", [fix((0, 6, "x")), fix((2, 3, "y"))])
    assert result.text == "x"


def test_what_is_inserted_at_one_place_becomes_one_edit() -> None:
    first, second, other = Edit(3, 3, "a"), Edit(3, 3, "b"), Edit(1, 2, "c")
    assert merged([first, second, other, first]) == (other, Edit(3, 3, "ab"))
    assert merged([Edit(3, 3, "a"), Edit(3, 5, "b"), Edit(5, 5, "c")]) == (
        Edit(3, 3, "a"),
        Edit(3, 5, "b"),
        Edit(5, 5, "c"),
    )


def test_findings_that_share_a_fix_apply_it_once() -> None:
    shared = fix((0, 0, "x"))
    result = apply("abc", [shared, shared, fix((0, 0, "x"))])
    assert result.text == "xabc"
    assert result.fixes == (shared,)


def test_an_edit_shared_by_two_fixes_is_made_once_and_both_apply() -> None:
    text = "a b\n"
    line = (4, 4, "done()\n")
    result = apply(text, [fix((0, 1, "A"), line), fix((2, 3, "B"), line)])
    assert result.text == "A B\ndone()\n"
    assert len(result.fixes) == 2


def test_a_fix_may_touch_its_own_edits() -> None:
    result = apply("x = 1\n", [fix((0, 0, "if y:\n"), (0, 0, "    "), (0, 1, "z"))])
    assert result.text == "if y:\n    z = 1\n"


def test_a_fix_that_contradicts_itself_is_skipped() -> None:
    contradictory = fix((0, 4, "x"), (2, 3, "y"))
    result = apply("abcdef", [contradictory])
    assert result.text == "abcdef"
    assert result.skipped == (contradictory,)


def test_a_fix_without_edits_is_skipped() -> None:
    assert apply("abc", [fix()]).text == "abc"


@pytest.mark.parametrize(
    ("edits", "before", "after"),
    [
        ([(0, 1, "long")], (3, 5), (6, 8)),  # behind the edit: moved
        ([(5, 6, "long")], (0, 3), (0, 3)),  # before it: in place
        ([(2, 8, "abc")], (3, 5), (2, 5)),  # inside it: the whole new content
        ([(3, 3, "ab")], (3, 5), (5, 7)),  # inserted in front
        ([(0, 2, ""), (4, 6, "abcd")], (2, 8), (0, 8)),  # around a later edit
        ([(0, 1, "xx"), (4, 8, "y")], (5, 6), (5, 6)),  # inside of the second edit
        ([(2, 4, "long")], (0, 2), (0, 2)),  # up to an edit
        ([(4, 8, "longer")], (2, 5), (2, 10)),  # into an edit
    ],
)
def test_where_a_range_moves(
    edits: list[tuple[int, int, str]], before: tuple[int, int], after: tuple[int, int]
) -> None:
    assert apply("0123456789", [fix(edit) for edit in edits]).moved(*before) == after


# --- imports


IMPORT = ("import paddle",)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "import paddle\n"),
        ("x = HERE\n", "import paddle\nx = 1\n"),
        ('"""Doc."""\nx = HERE\n', '"""Doc."""\nimport paddle\nx = 1\n'),
        (
            "from __future__ import annotations\n\nx = HERE\n",
            "from __future__ import annotations\nimport paddle\n\nx = 1\n",
        ),
        (
            "import os\nimport sys\n\nx = HERE\nimport re\n",
            "import os\nimport sys\nimport paddle\n\nx = 1\nimport re\n",
        ),
        (
            "#!/usr/bin/env python\n# -*- coding: utf-8 -*-\nx = HERE\n",
            "#!/usr/bin/env python\n# -*- coding: utf-8 -*-\nimport paddle\nx = 1\n",
        ),
        ("import os  # why\nx = HERE\n", "import os  # why\nimport paddle\nx = 1\n"),
        ("from os import (\n    path,\n)\nx = HERE\n", "from os import (\n    path,\n)\nimport paddle\nx = 1\n"),
        ("import os; x = [\n    HERE,\n]\n", "import paddle\nimport os; x = [\n    1,\n]\n"),
        (
            'import os\nos.environ["FLAGS_x"] = "1"\nimport re\nx = 2\nx = HERE\n',
            'import os\nos.environ["FLAGS_x"] = "1"\nimport re\nimport paddle\nx = 2\nx = 1\n',
        ),
        (
            "try:\n    import re\nfinally:\n    x = 0\nx = HERE\n",
            "try:\n    import re\nfinally:\n    x = 0\nimport paddle\nx = 1\n",
        ),
        ("def f():\n    import re\n\n\nx = HERE\n", "import paddle\ndef f():\n    import re\n\n\nx = 1\n"),
        ("import os\r\nx = HERE\r\n", "import os\r\nimport paddle\r\nx = 1\r\n"),
        ("x = HERE; import os", "import paddle\nx = 1; import os"),
        ("@cache\ndef f():\n    HERE\n", "import paddle\n@cache\ndef f():\n    1\n"),
    ],
)
def test_where_a_missing_import_goes(text: str, expected: str) -> None:
    wanted = swap(text, "HERE", "1", IMPORT) if text else fix((0, 0, ""), imports=IMPORT)
    assert apply(text, [wanted]).text == expected


def test_an_import_in_a_text_whose_last_line_has_no_line_end() -> None:
    text = "x = HERE"
    assert apply(text, [swap(text, "HERE", "1", IMPORT)]).text == "import paddle\nx = 1"


@pytest.mark.parametrize(
    ("head", "statement"),
    [
        ("import paddle\n", "import paddle"),
        ("import os, paddle\n", "import paddle"),
        ("try:\n    import paddle\nexcept ImportError:\n    raise\n", "import paddle"),
        ("if a:\n    import paddle\nelse:\n    import re, paddle\n", "import paddle"),
        ("from paddle import nn, io\n", "from paddle import io"),
        ("import paddle.nn.functional as F\n", "import paddle.nn.functional as F"),
        ("from . import tools\n", "from . import tools"),
    ],
)
def test_an_import_that_is_there_is_not_added(head: str, statement: str) -> None:
    text = head + "x = HERE\n"
    assert apply(text, [swap(text, "HERE", "1", (statement,))]).text == head + "x = 1\n"


@pytest.mark.parametrize(
    "head",
    [
        "import paddle as pd\n",
        "from paddle import nn\n",
        "import paddle.nn\n",
        "def f():\n    import paddle\n",
        "try:\n    import paddle\nexcept ImportError:\n    pass\n",
        "if TYPE_CHECKING:\n    import paddle\n",
        "# import paddle\n",
    ],
)
def test_an_import_under_another_name_or_elsewhere_does_not_count(head: str) -> None:
    text = head + "x = HERE\n"
    result = apply(text, [swap(text, "HERE", "1", IMPORT)]).text
    assert result.splitlines().count("import paddle") == 1


def test_imports_of_several_fixes_are_added_together_and_once() -> None:
    text = "a = HERE\nb = THERE\n"
    first = swap(text, "= HERE", "= 1", ("import paddle", "import os"))
    second = swap(text, "THERE", "2", ("import paddle", "import re"))
    assert apply(text, [first, second]).text == "import paddle\nimport os\nimport re\na = 1\nb = 2\n"


def test_an_import_waits_for_an_edit_that_rewrites_its_place() -> None:
    text = "import os\nx = HERE\n"
    clash = fix((0, len("import os\nx"), "y"))
    assert apply(text, [clash, swap(text, "HERE", "1", IMPORT)]).text == "y = HERE\n"


def test_an_import_comes_before_an_edit_at_its_place() -> None:
    text = "import os\nx = 1\n"
    result = apply(text, [fix((10, 10, "y = 2\n"), imports=IMPORT)])
    assert result.text == "import os\nimport paddle\ny = 2\nx = 1\n"


def test_complete_edits_hold_the_import_so_that_others_can_apply_them() -> None:
    text = "x = HERE\n"
    wanted = swap(text, "HERE", "1", IMPORT)
    assert complete_edits(text, wanted) == (Edit(0, 0, "import paddle\n"), Edit(4, 8, "1"))
    assert complete_edits("import paddle\n" + text, fix((18, 22, "1"), imports=IMPORT)) == (Edit(18, 22, "1"),)


# --- rounds


def test_only_fixes_of_the_level_are_applied() -> None:
    check = both(
        rule("safe", "done"),
        rule("risky", "done", "PPF101", Level.UNSAFE),
        rule("shown", "done", "PPF401", Level.DISPLAY),
    )
    text = "safe\nrisky\nrisky\nshown\n"
    outcome = run(check, a=text)
    assert outcome.changed["a"].text == "done\nrisky\nrisky\nshown\n"
    assert outcome.fixed == {("a", "PPF201"): 1}
    assert [finding.code for finding in outcome.remaining] == ["PPF101", "PPF101", "PPF401"]
    assert outcome.fixed_count == 1

    outcome = run(check, Level.UNSAFE, a=text)
    assert outcome.changed["a"].text == "done\ndone\ndone\nshown\n"
    assert outcome.fixed == {("a", "PPF201"): 1, ("a", "PPF101"): 2}
    assert outcome.fixed_count == 3


def test_a_skipped_fix_is_applied_in_the_next_round() -> None:
    # Each "x" insists on rewriting its neighbour too, so that two of them clash.
    outcome = run(rule("x[xy]?", "y"), a="xx")
    assert outcome.changed["a"].text == "y"
    assert outcome.settled
    overlapping = both(rule("outer[(]inner[(][)][)]", "new(inner())"), rule("inner[(][)]", "other()", "PPF202"))
    outcome = run(overlapping, a="outer(inner())\n")
    assert outcome.changed["a"].text == "new(other())\n"
    assert outcome.fixed == {("a", "PPF201"): 1, ("a", "PPF202"): 1}


def test_a_fix_that_does_not_help_is_not_kept() -> None:
    # The replacement is reported again at the same place.
    outcome = fix_all({"a": Source("a", "x = 1\n")}, rule("x+", "xx"), Level.SAFE, max_rounds=3)
    assert outcome.changed == {}
    assert outcome.fixed_count == 0
    assert len(outcome.remaining) == 1
    assert [(item.codes, item.reason, item.bug) for item in outcome.rejected] == [
        (("PPF201",), "PPF201 still reports the place", True)
    ]


def test_only_the_fix_that_helps_is_kept() -> None:
    def check(sources: Mapping[str, Source]) -> list[Finding]:
        # The first of two places keeps its finding whatever its fix does.
        text = sources["a"].text
        stubborn, other = text.index("keep"), text.find("drop")
        found = [Finding("PPF201", "a", stubborn, stubborn + 4, "m", fix((stubborn + 4, stubborn + 4, "_")))]
        if other >= 0:
            found.append(Finding("PPF201", "a", other, other + 4, "m", fix((other, other + 4, "gone"))))
        return found

    outcome = fix_all({"a": Source("a", "keep\ndrop\n")}, check, Level.SAFE)
    assert outcome.changed["a"].text == "keep\ngone\n"
    assert outcome.fixed == {("a", "PPF201"): 1}
    assert len(outcome.remaining) == 1


def test_a_fix_that_two_findings_share_is_not_kept_where_it_leaves_one_of_them() -> None:
    def check(sources: Mapping[str, Source]) -> list[Finding]:
        text = sources["a"].text
        shared = fix((0, 1, "A"))
        places = [place for place in (0, 2) if text[place] in "ab"]
        return [Finding("PPF201", "a", place, place + 1, "m", shared) for place in places]

    outcome = run(check, a="a b\n")
    assert outcome.changed == {}
    assert not outcome.applied


# --- the level of a place is decided once


def test_a_fix_that_is_only_shown_is_made_in_no_later_round() -> None:
    def check(sources: Mapping[str, Source]) -> list[Finding]:
        # Once "first" is fixed, the rule would trust its fix of "second".
        text = sources["a"].text
        level = Level.DISPLAY if "first" in text else Level.SAFE
        found = []
        for word, trust in (("first", Level.SAFE), ("second", level)):
            start = text.find(word)
            if start >= 0:
                end = start + len(word)
                found.append(Finding("PPF201", "a", start, end, "m", fix((start, end, word.upper()), level=trust)))
        return found

    outcome = run(check, Level.UNSAFE, a="first\nsecond\n")
    assert outcome.changed["a"].text == "FIRST\nsecond\n"
    assert [[made.row for made in round_] for round_ in outcome.applied] == [["first"]]


def test_an_unsafe_fix_that_becomes_safe_is_not_made_without_being_asked_for() -> None:
    def check(sources: Mapping[str, Source]) -> list[Finding]:
        text = sources["a"].text
        level = Level.UNSAFE if "first" in text else Level.SAFE
        starts = [(text.find("first"), 5, Level.SAFE), (text.find("second"), 6, level)]
        return [
            Finding("PPF405", "a", start, start + length, "m", fix((start, start + length, "x"), level=trust))
            for start, length, trust in starts
            if start >= 0
        ]

    assert run(check, a="first\nsecond\n").changed["a"].text == "x\nsecond\n"
    assert run(check, Level.UNSAFE, a="first\nsecond\n").changed["a"].text == "x\nx\n"


def test_a_place_that_is_only_shown_is_known_again_where_edits_have_moved_it() -> None:
    def check(sources: Mapping[str, Source]) -> list[Finding]:
        text = sources["a"].text
        found = []
        if text.startswith("one"):
            found.append(Finding("PPF201", "a", 0, 3, "m", fix((0, 3, "much\nlonger"))))
        start = text.index("only")
        level = Level.DISPLAY if text.startswith("one") else Level.SAFE
        found.append(Finding("PPF201", "a", start, start + 4, "m", fix((start, start + 4, "made"), level=level)))
        return found

    assert run(check, a="one\nonly\n").changed["a"].text == "much\nlonger\nonly\n"


def test_another_finding_of_a_statement_that_is_only_shown_is_not_fixed_either() -> None:
    def check(sources: Mapping[str, Source]) -> list[Finding]:
        # The rule names another part of the same statement once the row above is gone.
        text = sources["a"].text
        row = text.index("f(")
        is_first = text.startswith("one")
        start = row + (2 if is_first else 5)
        level = Level.DISPLAY if is_first else Level.SAFE
        edit = fix((start, start + 1, "z"), level=level)
        found = [Finding("PPF201", "a", start, start + 1, "m", edit, statement=(row, row + 7))]
        return [*found, Finding("PPF201", "a", 0, 3, "m", fix((0, 3, "two")))] if is_first else found

    assert run(check, a="one\nf(a, b)\n").changed["a"].text == "two\nf(a, b)\n"


def test_the_row_of_a_fix_is_known_without_its_blanks() -> None:
    outcome = run(rule("one", "two"), a="if x:\n    one  \n")
    assert [[made.row for made in round_] for round_ in outcome.applied] == [["one"]]


def test_what_only_appears_in_a_later_round_is_fixed_in_it() -> None:
    outcome = run(both(rule("one", "two"), rule("two", "three", "PPF405")), a="one\n")
    assert outcome.changed["a"].text == "three\n"
    assert [[made.finding.code for made in round_] for round_ in outcome.applied] == [["PPF201"], ["PPF405"]]


def test_findings_that_vanish_with_another_fix_are_not_counted_as_fixed() -> None:
    def check(sources: Mapping[str, Source]) -> list[Finding]:
        if "bad" not in sources["a"].text:
            return []
        unfixable = Finding("PPF306", "a", 4, 7, "no fix")
        return [Finding("PPF201", "a", 0, 3, "m", fix((0, 3, "ok"))), unfixable]

    outcome = run(check, a="bad\nx\n")
    assert outcome.fixed == {("a", "PPF201"): 1}
    assert outcome.remaining == ()


def test_a_finding_that_only_now_begins_behind_the_place_is_another_one() -> None:
    def check(sources: Mapping[str, Source]) -> list[Finding]:
        start = sources["a"].text.find("bad") if "bad" in sources["a"].text else 1
        return [Finding("PPF201", "a", start, start + 1, "m", fix((0, 3, "new")) if start == 0 else None)]

    outcome = run(check, a="bad\n")
    assert outcome.changed["a"].text == "new\n"
    assert outcome.fixed_count == 1


def test_neighbours_that_share_one_fix_both_count() -> None:
    def check(sources: Mapping[str, Source]) -> list[Finding]:
        text = sources["a"].text
        if text.startswith("if"):
            return []
        shared = fix((0, len(text), "if step:\n    log(1)\n    log(2)\n"))
        return [Finding("PPF405", "a", at, at + 6, "m", shared) for at in (0, 7)]

    outcome = run(check, a="log(1)\nlog(2)\n")
    assert outcome.changed["a"].text == "if step:\n    log(1)\n    log(2)\n"
    assert outcome.fixed == {("a", "PPF405"): 2}


def test_rounds_are_bounded_and_the_outcome_says_so() -> None:
    outcome = fix_all({"a": Source("a", "x\n")}, rule(r"\A", "y\n"), Level.SAFE, max_rounds=4)
    assert outcome.changed["a"].text == "y\n" * 4 + "x\n"
    assert not outcome.settled


def test_a_fix_that_writes_what_is_there_changes_nothing_and_ends() -> None:
    outcome = run(rule("x", "x"), a="x\n")
    assert outcome.changed == {}
    assert outcome.settled
    assert len(outcome.remaining) == 1


def test_all_files_are_checked_again_but_only_changed_ones_are_returned() -> None:
    outcome = run(rule("old", "new"), a="old\n", b="other\n")
    assert list(outcome.changed) == ["a"]


def test_giving_a_file_back_gives_its_first_findings_back() -> None:
    outcome = run(rule("old", "new"), a="old\n", b="old\nold\n").without(["b"])
    assert list(outcome.changed) == ["a"]
    assert outcome.fixed == {("a", "PPF201"): 1}
    assert [(finding.path, finding.start) for finding in outcome.remaining] == [("b", 0), ("b", 4)]


# --- results that cannot stay


def test_a_result_that_does_not_parse_is_thrown_away_and_reported_as_a_bug() -> None:
    outcome = run(rule("good", "bad ("), a="good\n", b="x = 1\n")
    assert outcome.changed == {}
    assert outcome.fixed_count == 0
    (bug,) = outcome.rejected
    assert (bug.path, bug.codes, bug.bug) == ("a", ("PPF201",), True)
    assert "not valid Python" in bug.reason
    assert len(outcome.remaining) == 1


def test_the_other_fixes_of_the_file_are_made_all_the_same() -> None:
    check = both(rule("good", "bad ("), rule("one", "two", "PPF405"))
    outcome = run(check, a="good\none\n")
    assert outcome.changed["a"].text == "good\ntwo\n"
    assert outcome.fixed == {("a", "PPF405"): 1}
    assert [bug.codes for bug in outcome.rejected] == [("PPF201",)]


def test_fixes_that_only_fail_together_are_all_left_out() -> None:
    # Each is fine by itself; both give the call the same keyword twice.
    outcome = run(both(rule("one", "same"), rule("two", "same", "PPF405")), a="f(one=1, two=2)\n")
    assert outcome.changed == {}
    assert {code for bug in outcome.rejected for code in bug.codes} == {"PPF201", "PPF405"}


def test_a_rejected_fix_is_not_tried_again_when_other_fixes_moved_it() -> None:
    outcome = run(both(rule("good", "bad ("), rule("x", "longer", "PPF405")), a="x\ngood\n")
    assert outcome.changed["a"].text == "longer\ngood\n"
    assert len(outcome.rejected) == 1


def test_a_file_that_does_not_parse_in_the_first_place_is_left_alone() -> None:
    outcome = run(rule("x", "y"), a="x = (\n")
    assert outcome.changed == {}
    assert outcome.rejected == ()


def test_a_file_that_parses_but_does_not_compile_can_still_be_fixed() -> None:
    # An exported notebook: await and return at the top level.
    outcome = run(rule("x", "y"), a="await x\n")
    assert outcome.changed["a"].text == "await y\n"


def test_a_text_that_the_encoding_cannot_hold_is_left_out_and_is_no_bug() -> None:
    sources = {"a": Source("a", "# -*- coding: latin-1 -*-\nx = 1\ny = 2\n", "iso-8859-1")}
    check = both(rule("x = 1", "x = '\u635f\u5931'"), rule("y = 2", "y = 3", "PPF405"))
    outcome = fix_all(sources, check, Level.SAFE)
    assert outcome.changed["a"].text == "# -*- coding: latin-1 -*-\nx = 1\ny = 3\n"
    (rejected,) = outcome.rejected
    assert not rejected.bug
    assert rejected.codes == ("PPF201",)
    assert rejected.reason == "the file's encoding (iso-8859-1) cannot represent '\u635f\u5931'"


def test_a_finding_about_an_unreadable_file_passes_through() -> None:
    unreadable = Finding("PPF003", "gone.py", 0, 0, "it cannot be read")
    outcome = run(lambda sources: [unreadable], a="x\n")
    assert outcome.remaining == (unreadable,)
    assert outcome.changed == {}


# --- bytes


@pytest.mark.parametrize(
    "before",
    [
        b"for x in y:\r\n    z = OLD\r\n",
        b"a = 1\r\nb = OLD\nc = 3\rd = 4\n",
        b"if a:\n\tb = OLD\t# tab\n\t\n",
        BOM + b"a = OLD\n",
        BOM + b"# -*- coding: utf-8 -*-\r\na = OLD",
        "# -*- coding: gbk -*-\n# \u635f\u5931\nloss = OLD  # \u8bad\u7ec3\n".encode("gbk"),
        "#!/usr/bin/python\n# vim: set fileencoding=latin-1 :\ns = '\xe9'\na = OLD\n".encode("latin-1"),
        "\u635f\u5931 = OLD\n# \u6ce8\u91ca\U0001f600\n".encode(),
        b"a = OLD",
        b"a = OLD  \n\n\n   \n",
        b"\x0ca = OLD\n\x0c\nb = 2\n",
        "a = '''\u2028 \x85'''\nb = OLD\n".encode(),
        b"a = 1 + \\\r\n    OLD\r\n",
    ],
)
def test_all_bytes_but_the_edit_stay(before: bytes) -> None:
    source = decode("a.py", before)
    outcome = fix_all({"a.py": source}, rule("OLD", "NEW"), Level.SAFE)
    after = outcome.changed["a.py"]
    assert after.encode(after.text) == before.replace(b"OLD", b"NEW")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"import os\r\nx = OLD\r\n", b"import os\r\nimport paddle\r\nx = NEW\r\n"),
        (BOM + b"x = OLD\n", BOM + b"import paddle\nx = NEW\n"),
        (
            "# coding: gbk\nimport os  # \u635f\nx = OLD\n".encode("gbk"),
            "# coding: gbk\nimport os  # \u635f\nimport paddle\nx = NEW\n".encode("gbk"),
        ),
        (b"import os\rx = OLD\r", b"import os\rimport paddle\rx = NEW\r"),
    ],
)
def test_an_added_import_uses_the_line_ends_of_the_file(before: bytes, after: bytes) -> None:
    source = decode("a.py", before)
    outcome = fix_all({"a.py": source}, rule("OLD", "NEW", imports=IMPORT), Level.SAFE)
    changed = outcome.changed["a.py"]
    assert changed.encode(changed.text) == after


def test_a_fix_that_removes_the_last_line_end_is_kept_exact() -> None:
    remove: Callable[[Mapping[str, Source]], list[Finding]] = rule("\n$", "")
    outcome = run(remove, a="x = 1\n")
    assert outcome.changed["a"].text == "x = 1"
