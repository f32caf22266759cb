"""PPF205 names the copies of one batch that stand side by side in one finding."""

from __future__ import annotations

from textwrap import indent

import pytest

from tests.support import check

SCRIPT = """\
import numpy as np
import paddle
import paddle.nn.functional as F


def fit(model, reader, optimizer):
    for batch in reader():
{body}
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
"""


def found(body: str) -> list[str]:
    """The messages of the rule, up to their verb; ``body`` begins in row 8."""
    findings = check(SCRIPT.format(body=indent(body, " " * 8)), "PPF205")
    return [item.message.partition(" copies")[0] for item in findings]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("x = paddle.to_tensor(batch[0])\ny = paddle.to_tensor(batch[1])", " (and line 9)"),
        ("x = paddle.to_tensor(batch[0])\nx.stop_gradient = True\ny = paddle.to_tensor(batch[1])", " (and line 10)"),
        (
            "x = paddle.to_tensor(batch[0])\ny = paddle.to_tensor(batch[1])\nz = paddle.to_tensor(batch[2])",
            " (and lines 9, 10)",
        ),
        ("x, y = paddle.to_tensor(batch[0]), paddle.to_tensor(batch[1])", ""),
        ("x = paddle.to_tensor(batch[0])\ny = None", ""),
    ],
)
def test_one_finding_for_the_copies_of_a_batch(body: str, expected: str) -> None:
    assert found(body) == [f"`paddle.to_tensor(batch[0])`{expected}"]


@pytest.mark.parametrize(
    "body",
    [
        "x = paddle.to_tensor(batch[0])\nz = model(x)\ny = paddle.to_tensor(batch[1])",
        "x = paddle.to_tensor(batch[0])\nif z:\n    y = paddle.to_tensor(batch[1])",
    ],
)
def test_two_findings_for_copies_that_stand_apart(body: str) -> None:
    assert found(body) == ["`paddle.to_tensor(batch[0])`", "`paddle.to_tensor(batch[1])`"]
