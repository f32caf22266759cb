"""Tests that choose one pass of a loop: what they guard runs at most once in the loop."""

from __future__ import annotations

from textwrap import indent

import pytest

from tests.support import check, in_step

SLICES = """\
import paddle


def read(model, images, count, wanted):
    scores = paddle.nn.functional.softmax(model(images))
    kept = []
    for {target} in {iterated}:
{body}
    return kept
"""


def slices(body: str, target: str = "i", iterated: str = "range(count)") -> list[str]:
    text = SLICES.format(target=target, iterated=iterated, body=indent(body, " " * 8))
    return [finding.code for finding in check(text, "PPF209")]


@pytest.mark.parametrize("test", ["i == 3", "3 == i", "i == -1", "i == wanted", "not i != 3", "i == 3 and wanted"])
def test_one_slice_is_read_in_the_pass_that_is_chosen(test: str) -> None:
    assert slices(f"if {test}:\n    kept.append(scores[:, i].numpy())") == []
    assert slices(f"if {test}:\n    kept.append(scores[:, i].numpy())", "i, x", "enumerate(images)") == []


def test_all_other_passes_are_left_out() -> None:
    assert slices("if i != 3:\n    continue\nkept.append(scores[:, i].numpy())") == []


def test_a_comprehension_with_a_filter() -> None:
    kept = "[scores[:, j].numpy() for j in range(count){}]"
    assert slices(f"pass\nkept = {kept.format(' if j == 3')}") == []
    assert slices(f"pass\nkept = {kept.format(' if j > 3')}") == ["PPF209"]


@pytest.mark.parametrize("test", ["i != 3", "i == kept[-1]", "i > 3", "wanted == 3", "i == 3 or wanted", "i == other"])
def test_these_let_many_passes_through(test: str) -> None:
    assert slices(f"other = i\nif {test}:\n    kept.append(scores[:, i].numpy())") == ["PPF209"]


def impact(test: str, iterated: str = "model.named_parameters()") -> tuple[str, str]:
    """How often the log is said to be written, and what the fix says."""
    body = f"for name, part in {iterated}:\n    if {test}:\n        print(name, part.numpy())"
    finding = next(item for item in check(in_step(body), "PPF202"))
    assert finding.impact is not None and finding.fix is not None
    return finding.impact.reason, finding.fix.reason


def test_the_name_of_a_parameter_chooses_no_step() -> None:
    often, advice = impact("name == 'fc.weight'")
    assert "at each step" in often and "several times" not in often
    assert "decides" not in advice


def test_a_test_of_something_else_lets_each_parameter_through() -> None:
    often, _ = impact("part.stop_gradient == False")
    assert "several times at each step" in often
