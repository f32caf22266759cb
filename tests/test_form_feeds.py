"""Form feeds in front of rows, where Python begins to count the indentation again: findings and fixes stay the same."""

from __future__ import annotations

import ast
import re

import pytest

from perflint import catalogue
from perflint.catalogue import Example, Rule
from perflint.configuration.settings import Settings
from perflint.findings import Level
from perflint.fix import fixer
from perflint.run import engine
from perflint.text.source import Source
from tests.support import STEP, in_step

PATH = "train.py"
SETTINGS = Settings(join_lines=False, select=("ALL",), whole_project=True)
EXAMPLES = [
    pytest.param(rule, example, id=f"{rule.code}-{example.title}")
    for rule in catalogue.shipped().values()
    for example in rule.examples
    if example.bad is not None and rule.code not in ("PPF001", "PPF002")
]
WAYS = ("\f", "\f\f", "  \f", "\t\f", "{}\f", " \f \f")
"""What is put in front of a row; ``{}`` stands for its own indentation."""


def with_form_feeds(text: str, way: str, *rows: int) -> str:
    """A text with form feeds in front of the rows of these numbers (from 1; all, where none is given) that take one.

    Those that do not are empty, or begin in a string, in brackets or behind a backslash: there it would be no
    indentation.
    """
    lines = text.splitlines(keepends=True)
    starts = {
        node.lineno
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.stmt) and node.col_offset == _depth(lines, node)
    }
    for row in sorted(starts):
        if row in rows or not rows:
            line = lines[row - 1]
            lines[row - 1] = way.format(line[: len(line) - len(line.lstrip())]) + line
    return "".join(lines)


def _depth(lines: list[str], node: ast.stmt) -> int:
    line = lines[node.lineno - 1]
    return len(line) - len(line.lstrip())


def found(text: str) -> list[tuple[str, int, str]]:
    """Code, row and message of each finding."""
    source = Source(PATH, text)
    return [
        (item.code, source.lines.position(item.start)[0], item.message)
        for item in engine.check({PATH: source}, SETTINGS)
    ]


def fixed(text: str, level: Level) -> str:
    source = Source(PATH, text)
    outcome = fixer.fix_all({PATH: source}, lambda sources: engine.check(sources, SETTINGS), level)
    assert outcome.settled
    assert not outcome.rejected, outcome.rejected
    return outcome.changed.get(PATH, source).text


def tree(text: str) -> str:
    return ast.dump(ast.parse(text))


@pytest.mark.parametrize(("rule", "example"), EXAMPLES)
def test_the_examples_of_all_rules(rule: Rule, example: Example) -> None:
    assert example.bad is not None
    way = WAYS[sum(map(ord, example.title)) % len(WAYS)]
    text = with_form_feeds(example.bad, way)
    assert text != example.bad
    assert tree(text) == tree(example.bad)
    assert found(text) == found(example.bad)
    for level in (Level.SAFE, Level.UNSAFE):
        assert tree(fixed(text, level)) == tree(fixed(example.bad, level))


LOOP = in_step(
    """
    print(loss)
    if step:
        print("one")
        print("two")
    total += 1
    logger.info("loss %s", loss)
    """
)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("row", [0, *range(len(STEP.splitlines()) - 4, len(LOOP.splitlines()) + 1)])
def test_before_any_row_of_a_block(way: str, row: int) -> None:
    text = with_form_feeds(LOOP, way, *([row] if row else []))
    assert tree(text) == tree(LOOP)
    assert found(text) == found(LOOP)
    assert tree(fixed(text, Level.UNSAFE)) == tree(fixed(LOOP, Level.UNSAFE))


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("way", WAYS)
def test_form_feeds_stay_where_they_are(newline: str, way: str) -> None:
    before = LOOP.replace("\n", newline)
    text = with_form_feeds(before, way)
    after = fixed(text, Level.UNSAFE)
    assert after != text
    assert after.count("\f") == text.count("\f")
    rows = [line for line in after.replace("\r\n", "\n").replace("\r", "\n").split("\n") if "\f" in line]
    assert all(re.match(re.escape(way).replace(re.escape("{}"), "[ \t]*"), row) for row in rows)


@pytest.mark.parametrize(
    "code",
    [
        'x = """\n\f  text\n\f"""\n',
        "x = (1 +\n\f  2)\n",
        "x = 1 + \\\n\f  2\n",
        "\f\n\f\nx = 1\n  \f\n",
        "# \f\n  \f# a\nx = 1  # \f\n",
        "x = 1\f\ny = 2 \f \n",
    ],
)
def test_form_feeds_that_indent_nothing(code: str) -> None:
    text = LOOP + "\n\n" + code
    assert [item[:2] for item in found(text)] == [item[:2] for item in found(LOOP)]
    assert tree(fixed(code + LOOP, Level.UNSAFE)) == tree(code + fixed(LOOP, Level.UNSAFE))
