"""All calls that pass on the items of a sequence are known wherever a loop is followed to what it takes them from."""

from __future__ import annotations

import pytest

from perflint.paddle.call_results import IN_TURN
from tests.support import places

GROWN = """\
import paddle


def unroll(cell, inputs, state):
    outputs = paddle.zeros([inputs.shape[0], 0, 64])
    for step in {loop}:
        state = cell(inputs[:, step], state)
        outputs = paddle.concat([outputs, state.unsqueeze(1)], axis=1)
    return outputs
"""


@pytest.mark.parametrize("name", sorted(IN_TURN))
def test_a_loop_over_what_passes_on_a_range_grows_an_array(name: str) -> None:
    text = GROWN.format(loop=f"{name}(range(64))")
    assert places(text, "PPF901") == [("train.py", 8, "PPF901")]


def test_a_loop_over_an_unknown_call_does_not() -> None:
    assert places(GROWN.format(loop="chosen(range(64))"), "PPF901") == []
