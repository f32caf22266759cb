"""Which models have their channels first, and where they are trained under AMP (PPF307)."""

from __future__ import annotations

import pytest

from perflint.rules.channels_first import Channels, channels_of
from tests.support import Files, check, project

FIRST, LAST, TOLD = Channels.FIRST, Channels.LAST, Channels.TOLD
HEAD = "import paddle\nfrom paddle import nn\n"


def model(*made: str, name: str = "Net", base: str = "nn.Layer", parameters: str = "") -> str:
    """A layer whose ``__init__`` makes some others."""
    rows = "".join(f"        self.layer{number} = {one}\n" for number, one in enumerate(made))
    return (
        f"class {name}({base}):\n"
        f"    def __init__(self{parameters}):\n        super().__init__()\n{rows}\n"
        f"    def forward(self, x):\n        return x\n"
    )


def channels(files: Files, path: str = "net.py", name: str = "Net") -> frozenset[Channels]:
    """Where the convolutions of one class have their channels."""
    file = project(files).files[path]
    return channels_of(file, file.scopes.classes[name])


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ("nn.Conv2D(3, 64, 3)", {FIRST}),
        ("paddle.nn.Conv2DTranspose(64, width, 3)", {FIRST}),
        ('nn.Conv2D(3, 64, 3, data_format="NHWC")', {LAST}),
        ('nn.Conv2D(3, 64, 3, data_format="NCHW")', {FIRST}),
        ('nn.Conv2D(3, 64, 3, 1, 0, 1, 1, "zeros", None, None, "NHWC")', {LAST}),
        ("nn.Conv2D(3, 64, 3, data_format=layout)", {TOLD}),
        ("nn.Conv2D(3, 64, 3, **kwargs)", {TOLD}),
        ("nn.Conv2D(*args)", {TOLD}),
        ("nn.Conv2D(3, 63, 3)", set()),
        ("nn.Conv2D(64, 64, 3, groups=64)", set()),
        ("nn.Conv2D(64, 64, 3, groups=1)", {FIRST}),
        ("nn.Conv1D(3, 64, 3)", set()),
        ("nn.Linear(64, 64)", set()),
    ],
)
def test_one_convolution(made: str, expected: set[Channels]) -> None:
    assert channels({"net.py": HEAD + model(made)}) == expected


def test_both_are_told() -> None:
    both = model("nn.Conv2D(3, 64, 3)", 'nn.Conv2D(64, 64, 3, data_format="NHWC")')
    assert channels({"net.py": HEAD + both}) == {FIRST, LAST}


@pytest.mark.parametrize("others", [4 * ["nn.Linear(64, 64)"], ["nn.LSTM(64, 64)"], ["nn.MultiHeadAttention(64, 4)"]])
def test_a_model_of_other_layers_is_no_convolutional_one(others: list[str]) -> None:
    assert channels({"net.py": HEAD + model("nn.Conv2D(3, 64, 3)", *others)}) == set()


def test_a_few_linear_layers_change_nothing() -> None:
    assert channels({"net.py": HEAD + model("nn.Conv2D(3, 64, 3)", *3 * ["nn.Linear(64, 64)"])}) == {FIRST}


PARTS = HEAD + model('nn.Conv2D(3, 64, 3, data_format="NHWC")', name="Part")


@pytest.mark.parametrize(
    "net",
    [
        "from parts import Part\n" + model("Part()"),
        "import parts\n" + model("parts.Part()"),
        "from parts import *\n" + model("Part()"),
        "from parts import Part\n" + model(base="Part"),
        "from parts import Part\n" + model("make(Part)") + "def make(part):\n    return part()\n",
        "from parts import Part\n" + model("make()") + "def make():\n    return nn.Sequential(Part(), nn.ReLU())\n",
    ],
)
def test_the_layers_that_a_model_is_made_of_count(net: str) -> None:
    assert channels({"net.py": HEAD + net, "parts.py": PARTS}) == {LAST}


def test_layers_that_name_each_other_end() -> None:
    tree = model("nn.Conv2D(3, 64, 3)", "Tree(depth - 1)", name="Tree", parameters=", depth") + model("Tree(3)")
    assert channels({"net.py": HEAD + tree}) == {FIRST}
    assert channels({"net.py": HEAD + tree}, name="Tree") == {FIRST}


def trained(call: str = "paddle.amp.auto_cast()", before: str = "net = Net()\n", use: str = "net(x)") -> str:
    """A loop that trains a model under AMP."""
    return (
        before + "scaler = paddle.amp.GradScaler()\nfor x, y in loader:\n"
        f"    with {call}:\n        loss = nn.functional.cross_entropy({use}, y)\n"
        "    scaler.scale(loss).backward()\n    scaler.step(optimizer)\n    optimizer.clear_grad()\n"
    )


NET = HEAD + model("nn.Conv2D(3, 64, 3)")


def reported(files: Files) -> list[str]:
    """The models that the rule names."""
    return [finding.message.split("`")[3] for finding in check(files, "PPF307")]


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        (trained(), ["Net"]),
        (trained(before="net = paddle.DataParallel(Net())\n"), ["Net"]),
        (trained(use="nn.functional.relu(net(x))"), ["Net"]),
        (trained("paddle.amp.auto_cast(enable=False)"), []),
        (trained("open('log')"), []),
        (trained(before="net = build(config)\n"), []),
        (trained(use="other(net(x))", before="net = Net()\nother = nn.Linear(4, 4)\n"), ["Net"]),
        ("paddle.incubate.autotune.set_config(config)\n" + trained(), []),
        ("from paddle.incubate import autotune\nautotune.set_config()\n" + trained(), []),
        ("from paddle.incubate.autotune import set_config\nset_config()\n" + trained(), []),
        ("from paddle.amp import auto_cast as half\n" + trained("half()"), ["Net"]),
    ],
)
def test_a_program_that_trains_under_amp(program: str, expected: list[str]) -> None:
    assert reported({"train.py": NET + program}) == expected


def test_a_model_that_is_handed_to_the_loop() -> None:
    loop = (
        HEAD
        + "def train(net, loader, optimizer):\n"
        + "".join(f"    {row}\n" for row in trained(before="").split("\n"))
    )
    main = HEAD + "from net import Net\nfrom loop import train\ntrain(Net(), loader, optimizer)\n"
    assert reported({"net.py": NET, "loop.py": loop, "main.py": main}) == ["Net"]


def test_two_models_under_one_auto_cast_are_left_alone() -> None:
    other = model('nn.Conv2D(3, 64, 3, data_format="NHWC")', name="Other")
    program = trained(before="net, other = Net(), Other()\n", use="net(x) + other(x)")
    assert reported({"train.py": NET + other + program}) == []


def test_prediction_is_left_alone() -> None:
    program = "net = Net()\nnet.eval()\nfor x in loader:\n    with paddle.amp.auto_cast():\n        print(net(x))\n"
    assert reported({"predict.py": NET + program}) == []
