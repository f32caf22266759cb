"""A file with other line ends gets the same findings and the same fixes."""

from __future__ import annotations

import re
from itertools import cycle

import pytest

from perflint import catalogue
from perflint.configuration.settings import Settings
from perflint.findings import ImpactLevel, Level
from perflint.fix import fixer
from perflint.run import engine
from perflint.text.source import Source

PATH = "train.py"
EXAMPLES = [
    pytest.param(rule.code, example.bad, id=f"{rule.code}-{example.title}")
    for rule in catalogue.shipped().values()
    for example in rule.examples
    if example.bad is not None and rule.code != "PPF001"
]


def _checked(code: str, text: str) -> tuple[list[str], str]:
    """The messages of a rule, and the text with its fixes."""
    settings = Settings(join_lines=False, select=(code,), min_impact=ImpactLevel.LOW)
    source = Source(PATH, text)
    found = engine.check({PATH: source}, settings)
    outcome = fixer.fix_all({PATH: source}, lambda sources: engine.check(sources, settings), Level.UNSAFE)
    assert not outcome.rejected, outcome.rejected
    return [finding.message for finding in found], outcome.changed.get(PATH, source).text


def _code_rows(text: str) -> list[str]:
    """The rows with code: where ends are mixed, two blank rows may become one."""
    return [row for row in re.split("\r\n|\r|\n", text) if row.strip()]


def _mixed(text: str) -> str:
    ends = cycle(["\r", "\r\n", "\n"])  # no "\n" right after a "\r", which would be one end
    return re.sub("\n", lambda _: next(ends), text)


@pytest.mark.parametrize(("code", "text"), EXAMPLES)
def test_line_ends_change_no_answer(code: str, text: str) -> None:
    text = f"# one row of words: \u2028, \x85 and \x0c end none\n{text}"
    messages, fixed = _checked(code, text)
    for other in (text.replace("\n", "\r"), text.replace("\n", "\r\n"), _mixed(text)):
        found, changed = _checked(code, other)
        assert found == messages
        assert _code_rows(changed) == _code_rows(fixed)
