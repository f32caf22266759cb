"""PPF914: `stop_gradient` on a layer, tried on Paddle itself, and where it is reported."""

from __future__ import annotations

import paddle
import pytest
from paddle import nn

from perflint.findings import Level
from tests.support import check, levels

HEAD = """\
import paddle
from paddle import nn


class Own(nn.Layer):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(8, 8)

    @property
    def stop_gradient(self):
        return False


"""


@pytest.mark.parametrize(("frozen", "has_gradient"), [("layer", True), ("parameters", False)])
def test_a_layer_has_no_such_switch(frozen: str, has_gradient: bool) -> None:
    net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
    for each in [net[0]] if frozen == "layer" else net[0].parameters():
        each.stop_gradient = True
    net(paddle.rand([3, 4])).sum().backward()
    assert (net[0].weight.grad is not None) is has_gradient
    assert net[0].weight.stop_gradient is not has_gradient


@pytest.mark.parametrize(
    ("lines", "count"),
    [
        ("net = nn.Linear(8, 8)\nnet.stop_gradient = True", 1),
        ("net = nn.Sequential(nn.Linear(8, 8))\nnet.stop_gradient = True", 1),
        ("own = Own()\nown.inner.stop_gradient = True", 1),
        ("own = Own()\nown.stop_gradient = True", 0),
        ("net = nn.Linear(8, 8)\nnet.stop_gradient = False", 0),
        ("net = nn.Linear(8, 8)\nnet.weight.stop_gradient = True", 0),
        ("x = nn.Linear(8, 8)(paddle.rand([2, 8]))\nx.stop_gradient = True", 0),
        ("for layer in unknown():\n    layer.stop_gradient = True", 0),
    ],
)
def test_only_what_is_surely_a_layer(lines: str, count: int) -> None:
    assert len(check(HEAD + lines + "\n", "PPF914")) == count


def test_a_name_that_is_taken_is_not_bound_again() -> None:
    text = HEAD + "parameter = 1\nnet = nn.Linear(8, 8)\nnet.stop_gradient = True\n"
    assert levels(text, "PPF914") == [Level.DISPLAY]
