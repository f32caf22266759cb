"""Edits are tried before they are offered: what fails loses its edit, or is trusted less."""

from __future__ import annotations

import ast

import pytest

from perflint.findings import Edit, Fix, Level
from perflint.fix.fixer import apply
from perflint.fix.trial import Trials
from perflint.text.source import Source

TRAINING = """\
import numpy as np
import paddle


def train(model, loader):
    for x, y in loader:
        loss = model(x, y)
        print(np.mean(loss.numpy()))  # for the log


class Other:
    def method(self):
        return np.zeros(3)
"""


def tried(text: str, *changes: tuple[str, str], level: Level = Level.SAFE, imports: tuple[str, ...] = ()) -> Fix:
    """What becomes of a fix that replaces the only occurrence of each text with another."""
    edits = []
    for old, new in changes:
        assert text.count(old) == 1, old
        start = text.index(old)
        edits.append(Edit(start, start + len(old), new))
    reason = "" if level is Level.SAFE else "the rule's own reason"
    trials = Trials(Source("a.py", text), ast.parse(text))
    [result] = trials.tried_together([Fix("title", tuple(edits), level, reason, imports)])
    assert result is not None
    return result


def test_an_edit_that_fits_is_offered_as_it_is() -> None:
    fix = tried(TRAINING, ("loss.numpy()", "loss.detach()"))
    assert fix.edits
    assert (fix.level, fix.reason) == (Level.SAFE, "")


@pytest.mark.parametrize("level", [Level.SAFE, Level.UNSAFE])
def test_an_edit_that_names_what_does_not_exist_is_put_in_words(level: Level) -> None:
    fix = tried(TRAINING, ("        print", "        if step % 10 == 0: print"), level=level)
    assert fix.edits == ()
    assert fix.level is Level.DISPLAY
    assert fix.message == "title"
    assert fix.reason == "the edit does not fit the code here: undefined name 'step'"


def test_a_suggestion_keeps_its_own_reason() -> None:
    fix = tried(TRAINING, ("loss.numpy()", "missing"), level=Level.DISPLAY)
    assert (fix.edits, fix.reason) == ((), "the rule's own reason")


def test_an_edit_that_does_not_compile_is_put_in_words() -> None:
    assert tried(TRAINING, ("loss.numpy()", "loss.numpy(")).edits == ()
    twice = tried("f(one=1, two=2)\n", ("two", "one"))
    assert twice.edits == ()
    assert twice.reason == "the edit does not fit the code here: the file would not compile"


def test_an_import_that_another_function_uses_may_lose_one_use() -> None:
    assert tried(TRAINING, ("np.mean(loss.numpy())", "loss")).edits


def test_an_import_that_only_the_edit_leaves_unused_goes_along() -> None:
    alone = TRAINING.replace("np.zeros(3)", "3")
    fix = tried(alone, ("np.mean(loss.numpy())", "loss"))
    assert apply(alone, [fix]).text == alone.replace("import numpy as np\n", "").replace(
        "np.mean(loss.numpy())", "loss"
    )


def test_an_import_that_another_file_takes_from_here_stays() -> None:
    alone = TRAINING.replace("np.zeros(3)", "3")
    start = alone.index("np.mean(loss.numpy())")
    trials = Trials(Source("a.py", alone), ast.parse(alone), is_needed=lambda name: name == "np")
    [fix] = trials.tried_together([Fix("title", (Edit(start, start + 21, "loss"),), Level.SAFE)])
    assert fix is not None
    assert (fix.level, fix.unneeded) == (Level.SAFE, ())
    assert apply(alone, [fix]).text == alone.replace("np.mean(loss.numpy())", "loss")


def test_an_import_that_is_still_read_after_all_edits_is_not_asked_about() -> None:
    asked: list[str] = []

    def is_needed(name: str) -> bool:
        asked.append(name)
        return False

    text = "import gc\n\ngc.collect()\ngc.collect()\ngc.get_count()\n"
    starts = [at for at in range(len(text)) if text.startswith("gc.collect", at)]
    fixes = [Fix("title", (Edit(start, start + 13, ""),), Level.SAFE) for start in starts]
    for rest in (text, text.replace("gc.get_count()\n", "")):
        trials = Trials(Source("a.py", rest), ast.parse(rest), is_needed=is_needed)
        found = trials.tried_together(fixes)
        assert [fix.unneeded for fix in found if fix is not None] == ([()] * 2 if rest is text else [("gc",)] * 2)
    assert asked == ["gc", "gc"]


def test_a_variable_that_only_the_edit_leaves_unused_is_for_a_person() -> None:
    text = "def f(x):\n    y = x + 1\n    return y\n"
    fix = tried(text, ("return y", "return x"))
    assert (fix.edits, fix.reason) == (
        (),
        "the edit does not fit the code here: local variable 'y' is assigned to but never used",
    )


def test_an_import_that_the_fix_brings_along_counts() -> None:
    change = ("np.mean(loss.numpy())", "itertools.count(np.mean(loss))")
    assert tried(TRAINING, change).edits == ()
    assert tried(TRAINING, change, imports=("import itertools",)).edits


def test_an_import_at_the_top_of_a_module_of_the_future() -> None:
    text = '"""Docs."""\nfrom __future__ import annotations\nx = 1\n'
    assert tried(text, ("1", "math.pi"), imports=("import math",)).edits


def test_what_was_wrong_before_is_no_fault_of_the_edit() -> None:
    text = "import os\n\n\ndef f():\n    return missing + 1\n"
    assert tried(text, ("1", "2")).edits


def test_an_edit_between_two_functions_belongs_to_the_first() -> None:
    text = "def f(items):\n    for x in items:\n        g(x)\ndef g(x):\n    return x\n"
    good = Fix("title", (Edit(text.index("def g"), text.index("def g"), "    items.clear()\n"),), Level.SAFE)
    bad = Fix("title", (Edit(text.index("def g"), text.index("def g"), "    nothing.clear()\n"),), Level.SAFE)
    trials = Trials(Source("a.py", text), ast.parse(text))
    assert trials.tried(good) == good
    assert trials.tried(bad) != bad


def test_an_edit_between_two_loops_that_touch() -> None:
    """Of the second loop only the first row was read, which does not parse."""
    loop = "for x in range(3):\n    print(x)\n"
    text = 'total = "0"\n' + loop + "    total += x\n" + loop + "print(total)\n"
    assert tried(text, ("    total += x\n", "    total += x\ntotal = str(total)\n")).edits


def test_two_statements_of_one_row_and_a_decorator_are_read_whole() -> None:
    assert tried("a = 1; b = 2\nprint(a, b)\n", ("2", "a")).edits
    assert tried("import d\n\n\n@d.one\ndef f():\n    pass\n", ("one", "two")).edits
    assert tried("import d\n\n\n@d.one\ndef f():\n    pass\n", ("d.one", "e.two")).edits == ()


# --- what a safe fix promises


def test_a_safe_fix_puts_nothing_under_a_test() -> None:
    text = TRAINING.replace("in loader", "in enumerate(loader)")
    fix = tried(text, ("        print", "        if x % 10 == 0:\n            print"))
    assert fix.edits
    assert (fix.level, fix.reason) == (Level.UNSAFE, "the code under the new test would run less often")
    assert tried(text, ("        print", "        with x:\n            print")).level is Level.SAFE


def test_a_test_around_one_of_two_equal_statements_counts() -> None:
    text = "for x in y:\n    print(x)\n    z = x\n    print(x)\n"
    fix = tried(text, ("    z = x\n    print(x)\n", "    z = x\n    if z:\n        print(x)\n"))
    assert fix.level is Level.UNSAFE


def test_a_safe_fix_keeps_comments() -> None:
    fix = tried(TRAINING, ("print(np.mean(loss.numpy()))  # for the log", "print(np.mean(loss.numpy()))"))
    assert (fix.level, fix.reason) == (Level.UNSAFE, "a comment would be lost")
    assert tried(TRAINING, ("  # for the log", "    # for the log")).level is Level.SAFE


def test_a_safe_fix_keeps_each_call_that_reports() -> None:
    fix = tried("def f(x, log):\n    log.info(x)\n    return x\n", ("    log.info(x)\n", ""))
    assert (fix.level, fix.reason) == (Level.UNSAFE, "`info` would no longer be called there")


def test_an_unsafe_fix_makes_no_such_promise() -> None:
    fix = tried(TRAINING, ("  # for the log", ""), level=Level.UNSAFE)
    assert (bool(fix.edits), fix.level) == (True, Level.UNSAFE)


def test_the_trials_of_one_file_end() -> None:
    # 3,000 edits in one function of 60,000 characters: those beyond the budget are put in words.
    rows = [f"    total += values[{number}].item()\n" for number in range(3000)]
    text = "def f(values, total):\n" + "".join(rows) + "    return total\n"
    trials = Trials(Source("a.py", text), ast.parse(text))
    places = [text.index(f"[{number}].item()") for number in range(0, 3000, 20)]
    fixes = [trials.tried(Fix("title", (Edit(place, place + 1, "("),), Level.DISPLAY, "why")) for place in places]
    assert all(fix is not None and not fix.edits for fix in fixes)
    assert trials._left < 0
