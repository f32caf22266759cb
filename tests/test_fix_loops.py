"""One fix for all reads of a loop, or words: taking away one of several reads of a step wins nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from perflint.configuration.settings import Settings
from perflint.findings import Confidence, Finding, Fix, Level
from perflint.fix import fixer
from perflint.run.session import Session
from perflint.text.source import Source
from tests.step_loops import script
from tests.support import PATH, check, fixed, sources
from tests.trained_scripts import run

READS = ("PPF201", "PPF202", "PPF203")
TWO = "total += loss.item()\nlosses.append(loss.item())"
START = "total, losses = 0.0, []"


def fixes(text: str, *select: str) -> list[Fix]:
    """The fix of each finding of PPF201."""
    return [found.fix for found in check(text, *(select or READS)) if found.code == "PPF201" and found.fix is not None]


def test_each_read_of_a_loop_offers_the_edits_for_all() -> None:
    text = script(START, TWO, "return total, losses")
    first, second = fixes(text)
    assert first == second
    assert first.level is Level.SAFE
    assert "(one fix for lines 12, 13)" in first.message
    applied = fixer.apply(text, [first]).text
    assert ".item()" not in applied
    assert len({edit.start for edit in first.edits}) == len(first.edits) == 3
    assert applied == fixed(text, "PPF201")
    assert run(applied) == run(text)


def test_a_fix_of_several_reads_is_counted_for_each() -> None:
    text = script(START, TWO, "return total, losses")
    outcome = fixer.fix_all(sources(text), lambda given: check(given[PATH].text, "PPF201"), Level.SAFE)
    assert outcome.fixed == {(PATH, "PPF201"): 2}
    assert not outcome.remaining


def test_the_least_sure_of_them_decides() -> None:
    text = script(
        "total, right = 0.0, 0", "total += loss.item()\nright += (F.relu(x) > 0).sum().item()", "return total"
    )
    for fix in fixes(text):
        assert fix.level is Level.UNSAFE
        assert "an integer" in fix.reason
    assert fixed(text, "PPF201") == text


def test_words_where_a_read_right_behind_it_stays() -> None:
    text = script("total = 0.0", "total += loss.item()\nif loss > 9:\n    raise RuntimeError", "return total")
    fix = fixes(text)[0]
    assert (fix.level, fix.edits) == (Level.DISPLAY, ())
    assert "at line 13, which no edit removes" in fix.reason
    assert fixed(text, *READS, level=Level.UNSAFE) == text


@pytest.mark.parametrize("other", ["args.seen = loss.item()", "args.rows[int(y[0])] = 1"])
def test_edits_where_a_person_can_remove_the_other_read(other: str) -> None:
    found = fixes(script("total = 0.0", f"total += loss.item()\n{other}", "return total"))[0]
    assert found.edits
    assert found.level is Level.UNSAFE


def test_a_read_that_stays_under_a_guard_is_no_reason() -> None:
    text = script(
        "total = 0.0", "total += loss.item()\nif step % 10 == 0:\n    args.seen = loss.item()", "return total"
    )
    [fix] = fixes(text)
    assert fix.level is Level.SAFE


def test_a_read_with_a_fix_of_its_own_has_to_be_fixed_too() -> None:
    text = script("total = 0.0", "total += loss.item()\nprint(step, loss.item())", "return total")
    findings = check(text, *READS)
    assert {found.code for found in findings} == {"PPF201", "PPF202"}
    [fix] = fixes(text)
    log = next(found.fix for found in findings if found.code == "PPF202")
    assert log is not None
    assert fix.level is log.level
    if log.level is Level.UNSAFE:
        assert "no gain until the reads at line 13 are gone" in fix.reason
    assert ".item()\n" not in fixed(text, *READS, level=Level.UNSAFE)


def test_a_read_that_is_only_shown_has_to_go_too() -> None:
    """No guard of a log was around it, though the reason spoke of one."""
    body = "total += float(loss)\nfor i in range(2):\n    sums[i] += loss.numpy()"
    fix = fixes(script("total, sums = 0.0, [0.0, 0.0]", body, "return total, sums"), *READS)[0]
    assert fix.level is Level.UNSAFE
    assert fix.reason == "no gain until the reads at line 14 are gone too; what they need is only shown"


@pytest.mark.parametrize(
    "log", ["print(total / (step + 1))", "print(step)\nprint(total)", "logging.info('%.3f', total / (step + 1))"]
)
def test_a_sum_that_a_log_shows_at_each_step_goes_along_with_the_guard_of_the_log(log: str) -> None:
    """The run after the one that wrote the guard used to change the file again."""
    text = script("total = 0.0", f"total += loss.item()\n{log}", "return total", "import logging")
    fix = fixes(text, *READS, "PPF405")[0]
    assert fix.level is Level.UNSAFE
    assert "no gain until the log at line 1" in fix.reason
    result = fixed(text, *READS, "PPF405", level=Level.UNSAFE)
    assert ".item()" not in result
    assert "if step % 10 == 0:" in result
    assert "float(total)" in result
    assert fixed(result, *READS, "PPF405", level=Level.UNSAFE) == result
    assert fixed(text, *READS, "PPF405", level=Level.SAFE) == text


def test_a_read_between_logs_goes_under_their_guard() -> None:
    """It was said to stay, and a second run found it gone."""
    log = "print('loss', step)\nline = 'loss ' + str(loss.item())\nprint(line)"
    text = script("total = 0.0", f"total += loss.item()\n{log}", "return total")
    fix = fixes(text, *READS, "PPF405")[0]
    assert fix.level is Level.UNSAFE
    assert "no gain until the reads at line 14 are gone" in fix.reason
    result = fixed(text, *READS, "PPF405", level=Level.UNSAFE)
    assert "total += loss.item()" not in result
    assert "            line = 'loss '" in result
    assert fixed(result, *READS, "PPF405", level=Level.UNSAFE) == result


@pytest.mark.parametrize(
    ("log", "select"),
    [
        ("print(total)", ("PPF201",)),  # without its rule the log is not guarded
        ("print(total)  # noqa: PPF405", (*READS, "PPF405")),
        ("args.seen = total", (*READS, "PPF405")),
        ("if args.verbose:\n    print(total)\nargs.seen.append(total)", (*READS, "PPF405")),
    ],
)
def test_a_sum_that_is_shown_at_each_step_by_what_stays_is_for_a_person(log: str, select: tuple[str, ...]) -> None:
    text = script("total = 0.0", f"total += loss.item()\n{log}", "return total")
    fix = fixes(text, *select)[0]
    assert (fix.level, fix.edits) == (Level.DISPLAY, ())
    assert "total += loss.item()" in fixed(text, *select, level=Level.UNSAFE)


def test_a_read_that_a_comment_keeps_stays() -> None:
    text = script(
        "total, old = 0.0, 0.0", "total += loss.item()\nold += loss.item()  # noqa: PPF201", "return total, old"
    )
    [fix] = fixes(text)
    assert fix.edits == ()
    assert "at line 13" in fix.reason


def test_a_read_in_a_helper_of_another_file_can_go_too() -> None:
    files = {
        "helper.py": "def show(board, value):\n    board.last = value.item()\n",
        PATH: script(
            "total = 0.0", "total += loss.item()\nshow(args, loss)", "return total", "from helper import show"
        ),
    }
    found = [item for item in check(files, "PPF201") if item.path == PATH and ".item" in item.message]
    assert all(item.fix is not None and item.fix.edits for item in found)
    assert found[0].impact is not None
    assert found[0].impact.reason.endswith("pays off together with line helper.py:2")


def test_reads_of_two_loops_are_two_fixes() -> None:
    text = script("total = 0.0", "total += loss.item()", "return total")
    text += text.replace("def train", "def again").replace("import paddle\nimport paddle.nn.functional as F\n", "")
    first, second = fixes(text)
    assert not set(first.edits) & set(second.edits)


def test_hundreds_of_reads_keep_their_own_edits() -> None:
    names = [f"total_{number}" for number in range(60)]
    before, inside = (f" {sign} loss.item()\n" if sign == "+=" else " = 0.0\n" for sign in ("=", "+="))
    text = script("".join(name + before for name in names), "".join(name + inside for name in names))
    assert max(len(fix.edits) for fix in fixes(text, "PPF201")) == 1
    assert ".item()" not in fixed(text, "PPF201")


def test_a_sum_that_goes_on_in_a_second_loop() -> None:
    text = script("total = 0.0", "total += loss.item()")
    loop = text[text.index("    for ") : text.index("    return")]
    text = text.replace("    return None", f"    print(total)\n{loop}    return total")
    first, second = fixes(text)
    assert first != second
    result = fixed(text, "PPF201")
    assert result.count("    total = float(total)\n") == 2
    assert run(result) == run(text)


def test_a_sum_of_arrays_that_the_log_indexes_is_fixed_in_no_pass() -> None:
    """Once the log line has its guard, `float(total)[0]` was written: a TypeError."""
    text = script(
        "total = 0.0", "total += loss.reshape([1]).numpy()\nprint(step, total[0], float(loss))", "return total"
    )
    result = fixed(text, *READS, level=Level.UNSAFE)
    assert "float(total)" not in result
    assert "total += loss.reshape([1]).numpy()" in result
    assert run(result)[1:] == run(text)[1:]


def test_an_editor_gets_the_same_fix() -> None:
    text = script(START, TWO, "return total, losses")
    session = Session({PATH: Source(PATH, text)}, Settings(join_lines=False, select=("PPF201",)), [PATH])
    session.edit(PATH, text.replace("total +=", "total +=  "))
    found: list[Finding] = session.edit(PATH, text)
    assert [item.fix for item in found] == fixes(text, "PPF201")
    assert {item.confidence for item in found} == {Confidence.HIGH}


def test_no_read_is_left_in_a_loop_whose_fix_is_made() -> None:
    for path in sorted((Path(__file__).parent / "training").glob("a*_*.py")):
        text = path.read_text(encoding="utf-8")
        for fix in fixes(text, "PPF201"):
            after = fixer.apply(text, [fix]).text
            assert not fixes(after, "PPF201"), path.name


@pytest.mark.parametrize("select", [("PPF201",), ("PPF2",), ("PPF201", "PPF405")])
def test_a_wait_is_judged_beside_the_others_whichever_rules_are_selected(select: tuple[str, ...]) -> None:
    text = script("total = 0.0", "total += loss.item()\nprint(loss.item())", "return total")
    found = [finding for finding in check(text, *select) if finding.code == "PPF201"]
    assert [finding.fix.reason for finding in found if finding.fix] == [
        "no gain until the reads at line 13 are gone too; they have their own fix"
    ]
    assert {finding.code for finding in check(text, "PPF201")} == {"PPF201"}
    assert check(text, "PPF405") == []
