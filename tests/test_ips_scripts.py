"""The scripts that measure the rules, without running them: each rule has one, or says why it has none."""

from __future__ import annotations

import ast
import difflib
from collections import Counter

import pytest

from perflint import catalogue
from perflint.text.source import Source
from tests.ips import cases, owed

CODES = sorted(cases.cases())
PARTNERS = {"PPF206": {"PPF205"}, "PPF601": {"PPF604"}}
"""Rules that report the other half of what a script is about: a way to the host and back is one of each."""

LEFT: dict[str, dict[str, int]] = {
    "PPF401": {"PPF401": 1},  # every few hundred steps, training still waits for the disk
    "PPF601": {"PPF604": 1},  # the evaluation still reads each loss
}
"""Findings that a fix leaves in the script of its rule, by code."""


def found(code: str, text: str) -> Counter[str]:
    """How many findings of each rule a script's text has."""
    return Counter(item.code for item in cases.findings(cases.cases()[code].script.name, text, code))


def original(code: str) -> str:
    return cases.cases()[code].script.read_text(encoding="utf-8")


@pytest.mark.parametrize("code", sorted(catalogue.shipped()))
def test_each_rule_has_a_script_or_a_reason(code: str) -> None:
    assert owed.script(catalogue.shipped()[code], code in CODES) == []


def test_each_script_belongs_to_a_rule() -> None:
    assert set(CODES) <= set(catalogue.shipped())


def test_one_script_a_rule() -> None:
    scripts = sorted(path.stem for path in cases.SCRIPTS.glob("ppf*.py"))
    known = [case.script.stem for case in cases.cases().values()]
    twins = [case.twin.stem for case in cases.cases().values() if case.twin.exists()]
    assert scripts == sorted(known + twins)


@pytest.mark.parametrize("code", CODES)
def test_script_has_findings_of_its_rule_only(code: str) -> None:
    assert found(code, original(code))[code] > 0
    assert set(found(code, original(code))) <= {code} | PARTNERS.get(code, set())


@pytest.mark.parametrize("code", CODES)
def test_fixed_script_has_no_findings(code: str) -> None:
    text = cases.fixed(cases.cases()[code])
    ast.parse(text)
    assert text != original(code)
    assert found(code, text) == Counter(LEFT.get(code, {}))


@pytest.mark.parametrize("code", [code for code in CODES if cases.cases()[code].twin.exists()])
def test_a_twin_differs_on_the_reported_rows_only(code: str) -> None:
    before = Source("before.py", original(code))
    rows = {before.lines.position(item.start)[0] for item in cases.findings("before.py", before.text, code)}
    after = cases.cases()[code].twin.read_text(encoding="utf-8")
    matcher = difflib.SequenceMatcher(None, before.text.splitlines(), after.splitlines(), autojunk=False)
    changed = {
        row for tag, first, last, _, _ in matcher.get_opcodes() if tag != "equal" for row in range(first + 1, last + 1)
    }
    assert changed
    assert changed <= rows


@pytest.mark.parametrize("code", [code for code in CODES if cases.cases()[code].twin.exists()])
def test_a_twin_is_needed(code: str) -> None:
    shown = [item.fix for item in cases.findings("before.py", original(code), code) if item.fix is not None]
    assert not any(fix.edits for fix in shown), "the finding shows an edit: perflint makes it, so delete the twin"
