"""Layer widths: which of them Tensor Cores cannot fill, and which nobody may choose."""

from __future__ import annotations

import pytest

from perflint.rules import width_chain
from perflint.rules.alignment import may_be_misaligned
from tests.support import module

HEADER = """\
import paddle  # for auto_cast
import paddle.nn as nn
from paddle.nn import Conv2D
WIDTH = 100
"""


def found(body: str) -> list[tuple[int, str, bool]]:
    """Width, side and whether it is hidden, for each misaligned layer of a class that makes these layers."""
    lines = "".join(f"        {line}\n" for line in body.strip().split("\n"))
    known = misaligned(f"{HEADER}class Net(nn.Layer):\n    def __init__(self, width, num_classes):\n{lines}")
    return [(item.width, item.side, item.hidden) for item in known]


def misaligned(text: str) -> list[width_chain.Misaligned]:
    """The misaligned layers of a file, none of which is lost where few files are looked at."""
    file = module(text)
    found = width_chain.misaligned(file)
    assert may_be_misaligned(file) or not found
    return found


@pytest.mark.parametrize(
    ("width", "next_width"), [(1, 8), (8, 8), (9, 16), (625, 632), (632, 632), (1000, 1000), (1001, 1008)]
)
def test_the_next_width(width: int, next_width: int) -> None:
    assert width_chain.aligned(width) == next_width


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
    assert [(item.side, item.hidden) for item in misaligned(text)] == [("input", False)]


def widths(text: str) -> list[tuple[int, int, str, bool]]:
    """Row, width, side, and whether it is a default, for each misaligned layer of a file."""
    return [(item.layer.call.lineno, item.width, item.side, item.assumed) for item in misaligned(HEADER + text)]


@pytest.mark.parametrize(
    "body",
    [
        "self.hidden = 300\nself.a = nn.Linear(64, self.hidden)\nself.b = nn.Linear(self.hidden, 8)",
        "dims = [64, 300, 8]\nself.a = nn.Linear(dims[0], dims[1])\nself.b = nn.Linear(dims[-2], dims[2])",
        "n = int(150 * 2.0)\nself.a = nn.Linear(64, n)\nself.b = nn.Linear(max(n, 8), 8)",
        "n = 3 * WIDTH\nself.a = nn.Linear(64, n)\nself.b = nn.Linear(n, 8)",
        "self.a = Conv2D(64, 300, 3, groups=WIDTH // WIDTH)\nself.b = Conv2D(300, 64, 3)",
    ],
)
def test_widths_that_are_computed(body: str) -> None:
    assert (300, "output", True) in found(body)


@pytest.mark.parametrize(
    "body",
    [
        "self.a = nn.Linear(64, cfg.hidden)\nself.b = nn.Linear(cfg.hidden, 8)",
        "n = cfg.get('hidden', 300)\nself.a = nn.Linear(64, n)\nself.b = nn.Linear(n, 8)",
        "n = args.hidden or 300\nself.a = nn.Linear(64, n)\nself.b = nn.Linear(n, 8)",
        "self.n = 300\nself.n = 200\nself.a = nn.Linear(64, self.n)\nself.b = nn.Linear(self.n, 8)",
        "vocab_size = 30001\nself.a = nn.Linear(64, vocab_size)\nself.b = nn.Linear(vocab_size, 8)",
        "self.num_classes = 150\nself.a = nn.Linear(64, self.num_classes)\nself.b = nn.Linear(self.num_classes, 8)",
    ],
)
def test_widths_from_a_configuration_or_from_the_data(body: str) -> None:
    assert found(body) == []


def test_an_attribute_of_the_class_or_of_its_base() -> None:
    text = (
        "class Base(nn.Layer):\n    hidden = 300\n"
        "class Net(Base):\n    inner = 100\n    def __init__(self):\n"
        "        self.a = nn.Linear(64, self.hidden)\n        self.b = nn.Linear(self.hidden, self.inner)\n"
        "        self.c = nn.Linear(self.inner, 8)\n"
    )
    assert widths(text) == [
        (10, 300, "output", False),
        (11, 100, "output", False),
        (12, 100, "input", False),
    ]


def test_a_name_in_a_class_body_is_no_constant_of_the_module() -> None:
    text = "class A:\n    hidden = 300\ndef f(hidden):\n    return nn.Linear(64, hidden), nn.Linear(hidden, 8)\n"
    assert widths(text + "def g():\n    return nn.Linear(64, hidden), nn.Linear(hidden, 8)\n") == []


DEFAULT = (
    "class Net(nn.Layer):\n    def __init__(self, hidden=300):\n"
    "        self.a = nn.Linear(64, hidden)\n        self.b = nn.Linear(hidden, 8)\n"
)


@pytest.mark.parametrize("use", ["Net()\n", "class Sub(Net):\n    pass\nSub()\n", "net = paddle.Model(Net())\n"])
def test_a_default_that_every_call_leaves_as_it_is(use: str) -> None:
    assert widths(DEFAULT + use) == [(7, 300, "output", True), (8, 300, "input", True)]


@pytest.mark.parametrize(
    "use",
    [
        "",
        "Net(hidden=width)\n",
        "Net()\nNet(256)\n",
        "Net(**config)\n",
        "Net()\nMODELS = {'net': Net}\n",
        "class Sub(Net):\n    def __init__(self, n):\n        super().__init__(n)\nNet()\n",
    ],
)
def test_a_default_that_may_be_something_else(use: str) -> None:
    assert widths(DEFAULT + use) == []


def test_a_default_of_a_registered_class_is_up_to_the_configuration() -> None:
    assert widths("@registry.register\n" + DEFAULT + "Net()\n") == []


WRAPPER = (
    "class ConvBNReLU(nn.Layer):\n    def __init__(self, in_channels, out_channels, kernel_size, **kwargs):\n"
    "        self.conv = Conv2D(in_channels, out_channels, kernel_size, **kwargs)\n"
)


def uses(body: str) -> str:
    lines = "".join(f"        {line}\n" for line in body.split("\n"))
    return f"{WRAPPER}class Net(nn.Layer):\n    def __init__(self, width):\n{lines}"


def test_a_width_through_a_layer_of_the_project() -> None:
    body = "self.a = ConvBNReLU(64, 100, 3)\nself.b = ConvBNReLU(100, 64, 3, stride=2)"
    assert widths(uses(body)) == [(10, 100, "output", False), (11, 100, "input", False)]


@pytest.mark.parametrize(
    "body",
    [
        "self.a = ConvBNReLU(64, 104, 3)\nself.b = ConvBNReLU(104, 64, 3)",
        "self.a = ConvBNReLU(64, 100, 3, groups=4)\nself.b = ConvBNReLU(100, 64, 3, groups=4)",
        "self.a = ConvBNReLU(64, width, 3)\nself.b = ConvBNReLU(width, 64, 3)",
        "self.a = ConvBNReLU(64, 100, 3)",
        "self.a = ConvBNReLU(100, 64, 3)",
        "self.a = ConvBNReLU(*[64, 100, 3])\nself.b = ConvBNReLU(100, 64, 3)",
    ],
)
def test_a_layer_of_the_project_that_is_fine(body: str) -> None:
    assert widths(uses(body)) == []


def test_a_number_of_nodes_handed_to_a_unit_is_found_where_it_is_written() -> None:
    text = (
        "class Inner(nn.Layer):\n    def __init__(self, state, node):\n"
        "        self.c = nn.Conv1D(node, node, 1)\n"
        "class Unit(nn.Layer):\n    def __init__(self, channels, state, node):\n"
        "        self.a = nn.Conv2D(channels, node, 1)\n        self.b = Inner(state, node)\n"
        "class Net(nn.Layer):\n    def __init__(self, channels):\n"
        "        self.u = Unit(channels, state=256, node=84)\n"
    )
    known = misaligned(HEADER + text)
    assert [(item.layer.call.lineno, item.width, item.hidden) for item in known] == [(14, 84, True)]
    assert known[0].layer.inside == ("train.py", 10)


def test_a_width_that_the_unit_multiplies() -> None:
    text = (
        "class Mlp(nn.Layer):\n    def __init__(self, dim, ratio):\n"
        "        self.a = nn.Linear(dim, dim * ratio)\n        self.b = nn.Linear(dim * ratio, dim)\n"
        "def build():\n    return Mlp({}, {})\n"
    )
    assert widths(text.format(20, 5)) == [(10, 100, "output", False)]
    assert widths(text.format(20, 4)) == []


def test_a_width_that_a_function_passes_on() -> None:
    text = (
        "def block(cin, cout):\n    return nn.Sequential(Conv2D(cin, cout, 3), nn.ReLU())\n"
        "class Net(nn.Layer):\n    def __init__(self):\n"
        "        self.a = block(64, 90)\n        self.b = block(90, 64)\n"
    )
    assert widths(text) == [(9, 90, "output", False), (10, 90, "input", False)]
