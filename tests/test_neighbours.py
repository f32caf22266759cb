"""Findings of one rule at neighbouring lines, with one cause, are one finding."""

from __future__ import annotations

from textwrap import indent

import pytest

from perflint.configuration.settings import Settings
from perflint.findings import Finding, ImpactLevel, Level
from perflint.fix.fixer import apply, fix_all
from perflint.run import engine
from perflint.suppress.noqa import noqa_edits, with_noqa_as_fix
from perflint.text.source import Source

PATH = "train.py"
PROGRAM = """\
import paddle


def train(model, loader, optimizer):
    a, b, c, total = [], [], [], 0.0
    for step, (x, y) in enumerate(loader):
        loss = paddle.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
{body}
    return a, b, c, total
"""
TWO = "a.append(loss.item())\nb.append(loss.mean().item())"
THREE = "a.append(loss.item())\nb.append(loss.mean().item())\nc.append(loss.sum().item())"


def in_step(body: str) -> str:
    """The program, whose step ends with some lines."""
    return PROGRAM.format(body=indent(body, " " * 8))


def _check(body: str, **options: object) -> list[Finding]:
    settings = Settings(select=("PPF2", "PPF4"), min_impact=ImpactLevel.LOW, **options)  # type: ignore[arg-type]
    return engine.check({PATH: Source(PATH, in_step(body))}, settings)


def _rows(finding: Finding, body: str) -> list[int]:
    """The rows of a finding, from the first of the body on."""
    lines = Source(PATH, in_step(body)).lines
    first = lines.position(in_step(body).index(body.split("\n")[0]))[0]
    return [lines.position(start)[0] - first for start in finding.starts]


def test_neighbours_are_one_finding() -> None:
    (found,) = _check(TWO)
    assert _rows(found, TWO) == [0, 1]
    text = in_step(TWO)
    assert text[found.start : found.end].startswith("loss.item()")
    assert text[found.start : found.end].endswith("loss.mean().item()")
    row = Source(PATH, text).lines.position(found.end)[0]
    assert found.message.endswith(f" The same goes for line {row}.")
    assert "more wait" not in found.message


def test_each_line_by_itself_where_the_settings_say_so() -> None:
    assert [_rows(found, TWO) for found in _check(TWO, join_lines=False)] == [[0], [1]]


@pytest.mark.parametrize(
    "between",
    ["step_size = 3", "a.append(loss.item())  # noqa: PPF201", "print(loss.item())"],
    ids=["a line without a finding", "a line that is silenced", "a finding of another rule"],
)
def test_what_stands_between_keeps_them_apart(between: str) -> None:
    body = f"a.append(loss.item())\n{between}\nb.append(loss.sum().item())"
    assert [_rows(found, body) for found in _check(body) if found.code == "PPF201"] == [[0], [2]]


def test_what_has_another_cause_stays_apart() -> None:
    """One value goes into a list, the other one into a sum: their advice is not the same."""
    body = "a.append(loss.item())\ntotal += loss.mean().item()"
    assert [_rows(found, body) for found in _check(body)] == [[0], [1]]


def test_blocks_are_told_apart() -> None:
    body = "if flag:\n    a.append(loss.item())\nb.append(loss.sum().item())"
    assert [_rows(found, body) for found in _check(body)] == [[1], [2]]


def test_two_on_one_line_are_one_finding() -> None:
    body = "scaled = loss * paddle.to_tensor([2.0, 3.0]) + paddle.to_tensor([4.0, 5.0])"
    (found,) = _check(body)
    assert found.code == "PPF205"
    assert _rows(found, body) == [0, 0]
    assert found.message.endswith(" This line has 2 of these.")


def test_two_waits_on_a_line_are_one_finding_since_they_pay_off_together() -> None:
    body = "a.append((loss.item(), loss.mean().item()))"
    (found,) = _check(body)
    assert found.impact is not None
    assert found.impact.reason == "a wait for the device at each step"
    assert found.message.endswith(" This line has 2 of these.")


def test_a_comment_silences_its_own_line_alone() -> None:
    body = THREE.replace("loss.mean().item())", "loss.mean().item())  # noqa: PPF201")
    assert [_rows(found, body) for found in _check(body)] == [[0], [2]]
    assert [_rows(found, body) for found in _check(body, noqa=False)] == [[0], [1], [2]]


def test_each_line_gets_the_comment_that_silences_it() -> None:
    source = Source(PATH, in_step(THREE))
    found = _check(THREE)
    assert [_rows(item, THREE) for item in found] == [[0, 1, 2]]
    edits = noqa_edits(source, found)
    assert [source.lines.line(source.lines.position(edit.start)[0]).strip() for edit in edits] == THREE.split("\n")
    (fixed,) = with_noqa_as_fix(source, found)
    assert fixed.fix is not None
    assert list(fixed.fix.edits) == edits
    silenced = Source(PATH, apply(source.text, [fixed.fix]).text)
    assert not engine.check({PATH: silenced}, Settings(select=("PPF2",), min_impact=ImpactLevel.LOW))


def test_one_fix_mends_all_of_them() -> None:
    (found,) = _check(THREE)
    assert found.fix is not None
    text = in_step(THREE)
    settings = Settings(select=("PPF2",), min_impact=ImpactLevel.LOW)
    outcome = fix_all({PATH: Source(PATH, text)}, lambda given: engine.check(given, settings), Level.UNSAFE)
    assert ".item()" not in outcome.changed[PATH].text
    assert not engine.check(outcome.changed, settings)
