"""``junit``: read back by junitparser, as CI systems read it."""

from __future__ import annotations

from pathlib import Path

import pytest
from junitparser import Error, Failure, JUnitXml

from perflint.findings import Finding, Related
from perflint.output import ci_reports
from perflint.output.report import Report
from perflint.text.source import Source
from tests.output_samples import SAFE, TEXT, UNSAFE, rendered, report
from tests.reported import Run


@pytest.fixture(autouse=True)
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)


def parsed(shown: Report) -> JUnitXml:
    return JUnitXml.fromstring(rendered(ci_reports.render_junit, shown).encode("ascii"))


@pytest.mark.usefixtures("fake_catalogue")
def test_each_file_is_a_suite_and_each_finding_a_failed_case() -> None:
    other = Finding("PPF201", "b.py", 0, 6, "It costs time, too.", related=(Related("a.py", 2, "the loop"),))
    gone = Finding("PPF003", "gone.py", 0, 0, "It cannot be read.")
    sources = {path: Source(path, TEXT) for path in ("a.py", "b.py")}
    document = parsed(Report([SAFE, UNSAFE, other, gone], sources))
    assert (document.tests, document.failures, document.errors) == (4, 3, 1)
    first, second, third = document
    assert (first.name, first.tests, first.failures, first.errors) == ("a.py", 2, 2, 0)
    assert (second.name, second.tests, second.failures) == ("b.py", 1, 1)
    assert (third.name, third.tests, third.failures, third.errors) == ("gone.py", 1, 0, 1)
    case, _ = first
    assert case.classname == "a.py"
    assert case.name == "PPF201 host-sync-in-step (3:14)"
    (failure,) = case.result
    assert isinstance(failure, Failure)
    assert (failure.message, failure.type) == ("It costs time.", "PPF201")
    assert failure.text.splitlines()[:2] == ["a.py:3:14: PPF201 It costs time.", "fix (safe): Change it"]
    (case,) = second
    assert "see a.py:2: the loop" in case.result[0].text.splitlines()
    (case,) = third
    assert isinstance(case.result[0], Error)


def test_a_run_is_read_back_whole(awkward_run: Run) -> None:
    document = JUnitXml.fromstring(awkward_run.texts["junit"].encode("ascii"))
    assert document.tests == len(awkward_run.places)
    assert document.errors == 2
    assert document.failures == document.tests - 2
    names = [(case.classname, case.name) for suite in document for case in suite]
    assert len(set(names)) == len(names)


def test_a_clean_run_is_one_case_that_passes() -> None:
    document = parsed(report())
    assert (document.tests, document.failures, document.errors) == (1, 0, 0)
    ((case,),) = document
    assert case.is_passed


@pytest.mark.usefixtures("fake_catalogue")
def test_what_xml_cannot_hold_is_shown_otherwise() -> None:
    # U+FFFE, U+FFFF, lone surrogates and most control characters are no characters of XML 1.0.
    message = "a\x00b\x1bc\x0bd\ufffee\uffff\ud800 <&>\"'\t\n]]> \u635f\U0001f600"
    path = "\udcff<.py"
    document = parsed(Report([Finding("PPF201", path, 0, 1, message)], {path: Source(path, TEXT)}))
    ((case,),) = document
    seen = r"a\x00b\x1bc\x0bd\ufffee\uffff\ud800 <&>" + "\"'" + r"\t\n]]> " + "\u635f\U0001f600"
    assert case.result[0].message == seen
    assert seen in case.result[0].text
    assert case.classname == "\\xff<.py"
