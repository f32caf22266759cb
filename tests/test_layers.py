"""Layer widths: which of them Tensor Cores cannot fill, and which nobody may choose."""

from __future__ import annotations

import pytest

from perflint.index import layers
from tests.support import module

HEADER = """\
import paddle
import paddle.nn as nn
from paddle.nn import Conv2D
WIDTH = 100
"""


def found(body: str) -> list[tuple[int, str, bool]]:
    """Width, side and whether it is hidden, for each misaligned layer of a class that makes these layers."""
    lines = "".join(f"        {line}\n" for line in body.strip().split("\n"))
    file = module(f"{HEADER}class Net(nn.Layer):\n    def __init__(self, width, num_classes):\n{lines}")
    return [(item.width, item.side, item.hidden) for item in file.misaligned.values()]


@pytest.mark.parametrize(
    ("width", "next_width"), [(1, 8), (8, 8), (9, 16), (625, 632), (632, 632), (1000, 1000), (1001, 1008)]
)
def test_the_next_width(width: int, next_width: int) -> None:
    assert layers.aligned(width) == next_width


@pytest.mark.parametrize(
    "body",
    [
        "self.a = nn.Linear(256, 625)\nself.b = nn.Linear(625, 10)",
        "self.a = nn.Linear(in_features=256, out_features=625)\nself.b = nn.Linear(625, 10)",
        "self.a = paddle.nn.Linear(256, 5 * 5 * 25)\nself.b = nn.Linear(25 * 25, 10)",
        "n = 625\nself.a = nn.Linear(256, n)\nself.b = nn.Linear(n, 10)",
        "self.a = Conv2D(64, 625, 3)\nself.b = Conv2D(625, 64, 3)",
        "self.a = Conv2D(64, 625, 3, groups=1)\nself.b = nn.Conv2D(in_channels=625, out_channels=64, kernel_size=3)",
        "self.a = nn.Sequential(nn.Linear(256, 625), nn.ReLU(), nn.Linear(625, 10))",
        "self.a = nn.Linear(256, 1250 // 2)\nself.b = nn.Linear(600 + 25, 10)",
    ],
)
def test_a_hidden_width(body: str) -> None:
    assert (625, "output", True) in found(body)


def test_a_width_from_a_module_constant() -> None:
    assert found("self.a = nn.Linear(64, WIDTH)\nself.b = nn.Linear(WIDTH, 8)") == [
        (100, "output", True),
        (100, "input", True),
    ]


@pytest.mark.parametrize(
    "body",
    [
        "self.head = nn.Linear(256, 1001)",
        "self.a = nn.Linear(256, 512)\nself.b = nn.Linear(512, 1001)",
        "self.a = nn.Linear(256, num_classes)\nself.b = nn.Linear(num_classes, 8)",
        "self.a = nn.Linear(256, width + 1)\nself.b = nn.Linear(width + 1, 8)",
        "self.a = Conv2D(3, 64, 7)\nself.b = Conv2D(64, 128, 3)",
        "self.a = nn.Linear(16, 30)\nself.b = nn.Linear(30, 16)",
        "self.a = Conv2D(64, 100, 3, groups=4)\nself.b = Conv2D(100, 64, 3, groups=4)",
        "self.a = Conv2D(64, 100, 3, 1, 1, 1, 4)\nself.b = Conv2D(100, 64, 3, 1, 1, 1, 4)",
        "self.a = Conv2D(64, 100, 3, **options)\nself.b = Conv2D(100, 64, 3, **options)",
        "self.a = nn.Linear(*sizes)\nself.b = nn.Linear(True, False)",
        "self.a = nn.LSTM(100, 100)\nself.b = Own(100, 100)",
        "self.a = nn.Linear(64, 100 // 0)\nself.b = nn.Linear(100 / 1, 8)",
        "n = 100\nn = 200\nself.a = nn.Linear(64, n)\nself.b = nn.Linear(n, 8)",
    ],
)
def test_widths_that_are_fine_or_nobodys_choice_or_not_known(body: str) -> None:
    assert found(body) == []


def test_an_input_width_is_told_from_a_hidden_one() -> None:
    assert found("self.a = nn.Linear(100, 64)\nself.b = nn.Linear(64, 8)") == [(100, "input", False)]


def test_layers_of_another_class_do_not_take_the_width() -> None:
    text = HEADER + (
        "class A(nn.Layer):\n    def __init__(self):\n        self.a = nn.Linear(64, 100)\n"
        "class B(nn.Layer):\n    def __init__(self):\n        self.b = nn.Linear(100, 64)\n"
    )
    assert [(item.side, item.hidden) for item in module(text).misaligned.values()] == [("input", False)]
