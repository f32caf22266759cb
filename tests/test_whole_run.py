"""All edits of a run are tried together: a file that they break keeps its old text."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from perflint.configuration.settings import Settings
from perflint.findings import Edit, Finding, Fix, Level
from perflint.fix.fixer import Check, FixOutcome, broken_files, fix_all
from perflint.server.kept import KeptFindings
from perflint.text.source import Source
from tests.support import sources


def broken(before: dict[str, str], **after: str) -> dict[str, str]:
    """Why files must keep their old text."""
    return {path: reason for path, (reason, _) in told(before, **after).items()}


def told(before: dict[str, str], **after: str) -> dict[str, tuple[str, bool]]:
    """The same, and whether it is a mistake of perflint."""
    old = {path: Source(path, text) for path, text in before.items()}
    new = {f"{name}.py": Source(f"{name}.py", text) for name, text in after.items()}
    return broken_files(old, new)


def test_what_fits_is_kept() -> None:
    assert broken({"a.py": "import gc\ngc.collect()\n", "b.py": "import a\n"}, a="x = 1\n") == {}
    assert broken({"a.py": "import gc\ngc.collect()\n"}, a="import gc\n") == {}


def test_a_name_that_one_edit_removes_and_another_one_uses() -> None:
    found = broken({"a.py": "import gc\ngc.collect()\n"}, a="gc.get_count()\n")
    assert found == {"a.py": "all edits together do not fit: undefined name 'gc'"}


def test_a_result_that_does_not_compile() -> None:
    found = broken({"a.py": "f(x=1)\n"}, a="f(x=1, x=2)\n")
    assert found == {"a.py": "the result of all edits together is not valid Python"}


@pytest.mark.parametrize("other", ["from a import gc\n", "from a import \\\n    gc\n", "import a as A\nA.gc\n"])
def test_a_name_that_another_file_takes(other: str) -> None:
    found = broken({"a.py": "import gc\ngc.collect()\n", "b.py": other}, a="x = 1\n")
    assert found == {"a.py": "another file takes `gc` from it"}


def test_private_names_are_taken_by_a_star_only_if_they_are_listed() -> None:
    loop = "for _ in range(3):\n    pass\n"
    edited = loop.replace("_", "step")
    assert broken({"a.py": loop, "b.py": "from a import *\n"}, a=edited) == {}
    assert broken({"a.py": loop + "__all__ = ['_']\n", "b.py": "from a import *\n"}, a=edited) != {}
    named = told({"a.py": loop, "b.py": "from a import _\n"}, a=edited)
    assert named == {"a.py": ("another file takes `_` from it", False)}


def test_the_same_name_of_another_project_does_not_count() -> None:
    files = {"one/a.py": "import gc\ngc.collect()\n", "one/b.py": "import a\n"}
    old = {
        path: Source(path, text)
        for path, text in {**files, "two/a.py": "import gc\n", "two/b.py": "from a import gc\n"}.items()
    }
    assert broken_files(old, {"one/a.py": Source("one/a.py", "x = 1\n")}) == {}


def _replacing(*changes: tuple[str, str, str]) -> Check:
    """A check that finds texts in files, each with the fix that replaces it."""

    def check(sources: Mapping[str, Source]) -> list[Finding]:
        return [
            Finding("PPF201", path, at, at + 1, "m", Fix("t", (Edit(at, at + len(old), new),), Level.SAFE))
            for path, old, new in changes
            if (at := sources[path].text.find(old)) >= 0
        ]

    return check


def _outcome(*changes: tuple[str, str, str]) -> FixOutcome:
    files = {"a.py": "import gc\ngc.collect()\nx = 1\n", "b.py": "y = 2\n"}
    return fix_all({path: Source(path, text) for path, text in files.items()}, _replacing(*changes), Level.SAFE)


def test_a_broken_file_keeps_its_old_text_and_the_others_their_new_one() -> None:
    outcome = _outcome(("a.py", "import gc\ngc.collect()\n", ""), ("a.py", "1", "gc.isenabled()"), ("b.py", "2", "3"))
    assert {path: source.text for path, source in outcome.changed.items()} == {"b.py": "y = 3\n"}
    (report,) = outcome.rejected
    assert (report.path, report.codes, report.bug) == ("a.py", ("PPF201",), True)
    assert "undefined name 'gc'" in report.reason
    assert [finding.path for finding in outcome.remaining] == ["a.py", "a.py"]
    assert outcome.fixed == {("b.py", "PPF201"): 1}
    assert {item.finding.path for items in outcome.applied for item in items} == {"b.py"}


@pytest.mark.parametrize(("taken", "is_edited"), [("_", False), ("loss", True)])
def test_an_editor_asks_the_other_files_of_its_folder_too(taken: str, is_edited: bool) -> None:
    steps = ("loss = model(x)", "loss.backward()", "opt.step()", "opt.clear_grad()", "print(loss.item())")
    train = "import paddle\n\nfor _, x in enumerate(loader):\n" + "".join(f"    {step}\n" for step in steps)
    kept = KeptFindings()
    kept.put(sources({"train.py": train, "other.py": f"from train import {taken}\n"}), Settings(), ["train.py"])
    edited = kept.fixed("train.py", Level.UNSAFE, lambda _, found: found)
    assert edited is not None
    assert ("for step, x in" in edited) is is_edited
