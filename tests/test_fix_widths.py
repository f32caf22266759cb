"""PPF306 fixed in code as people format it: one width for what makes it and all that takes it."""

from __future__ import annotations

import random
from textwrap import dedent, indent
from typing import Any

import paddle
import pytest

from perflint.findings import Finding, Level
from perflint.fix import fixer
from tests.support import check, fixed, levels

AMP = "\n\n\nscaler = paddle.amp.GradScaler()\n"


def network(layers: str, forward: str, more: str = "") -> str:
    return (
        "import paddle\nimport paddle.nn.functional as F\nfrom paddle import nn\n\n\nclass Net(nn.Layer):\n"
        "    def __init__(self):\n        super().__init__()\n"
        + indent(dedent(layers).strip("\n"), " " * 8)
        + "\n\n    def forward(self, x):\n"
        + indent(dedent(forward).strip("\n"), " " * 8)
        + (f"\n\n{dedent(more).strip()}" if more else "")
        + AMP
    )


def widened(layers: str, forward: str, old: int, new: int) -> str:
    """What the fixes make of a network; the numbers in its layers are all that they may change.

    Raises:
        AssertionError: the new network does not run on what the old one runs on, or gives another shape.
    """
    text = network(layers, forward)
    assert fixed(text, "PPF306") == text
    result = fixed(text, "PPF306", level=Level.UNSAFE)
    assert result == text.replace(str(old), str(new))
    assert not check(result, "PPF306")
    return result


def output(text: str, shape: list[int], whole: bool = False) -> tuple[list[int], int]:
    """The shape that a network gives for an input, and how many weights it has."""
    space: dict[str, Any] = {}
    exec(compile(text, "net.py", "exec"), space)
    net = space["Net"]()
    net.eval()
    given = paddle.zeros(shape, dtype="int64") if whole else paddle.ones(shape)
    return net(given).shape, sum(item.size for item in net.parameters())


LINEAR = "self.a = nn.Linear(256, 625)\nself.b = nn.Linear(625, 8)"
CONV = "self.a = nn.Conv2D(64, 100, 3, padding=1)\nself.b = nn.Conv2D(100, 64, 3)"


@pytest.mark.parametrize(
    ("layers", "forward", "old", "new", "shape"),
    [
        (LINEAR, "return self.b(self.a(x))", 625, 632, [2, 256]),
        (
            LINEAR,
            "x = F.relu(self.a(x))\nx = F.dropout(x, 0.5, training=self.training)\nreturn self.b(x)",
            625,
            632,
            [2, 256],
        ),
        (
            "self.a = nn.Linear(\n    256,\n    out_features = 625,  # wide\n)\nself.b = nn.Linear(625, 8)",
            "y = self.a(\n    x,\n)  # one\nz = self.a(x * 2) + y * 0.5\nreturn self.b(z)",
            625,
            632,
            [2, 256],
        ),
        (
            "self.a = nn.Linear(256, 300)\nself.n = nn.LayerNorm([300])\nself.d = nn.Dropout()\n"
            "self.p = nn.PReLU(300)\nself.m = nn.Linear(300, 300)\nself.b = nn.Linear(300, 8)",
            "x = self.p(self.n(self.a(x)))\nfor _ in range(3):\n    x = x + self.d(self.m(x))\nreturn self.b(x)",
            300,
            304,
            [2, 256],
        ),
        (
            "self.e = nn.Embedding(2000, 300)\nself.n = nn.LayerNorm(300)\nself.b = nn.Linear(300, 8)",
            "return self.b(self.n(self.e(x)).mean(axis=1))",
            300,
            304,
            [2, 5],
        ),
        (CONV, "return self.b(F.relu(self.a(x)))", 100, 104, [2, 64, 9, 9]),
        (
            "self.a = nn.Conv2D(64, 100, 3)\nself.n = nn.BatchNorm2D(100)\nself.pool = nn.AdaptiveAvgPool2D(1)\n"
            "self.b = nn.Linear(100, 8)",
            "x = self.pool(F.max_pool2d(F.relu(self.n(self.a(x))), 2))\nreturn self.b(x.reshape([x.shape[0], -1]))",
            100,
            104,
            [2, 64, 9, 9],
        ),
        (
            "self.a = nn.Conv2D(64, 100, 3)\nself.g = nn.GroupNorm(4, 100)\nself.b = nn.Linear(100, 8)",
            "x = self.g(self.a(x))\nif x.shape[0] > 4:\n    x = F.relu(x)\nx = F.elu(x)\nreturn self.b(x.mean([2, 3]))",
            100,
            104,
            [2, 64, 9, 9],
        ),
        (
            "self.f = nn.Sequential(nn.Linear(256, 625), nn.ReLU(), nn.Linear(625, 8))",
            "return self.f(x)",
            625,
            632,
            [2, 256],
        ),
        (
            "self.a = nn.Sequential(nn.Linear(256, 625), nn.ReLU())\n"
            "self.b = nn.Sequential(nn.Dropout(), nn.Linear(625, 8))",
            "return self.b(self.a(x))",
            625,
            632,
            [2, 256],
        ),
        (
            "self.f = nn.Sequential(('a', nn.Linear(256, 625)), ('r', nn.ReLU()), ('b', nn.Linear(625, 8)))",
            "return self.f(x)",
            625,
            632,
            [2, 256],
        ),
        (
            "self.a = nn.Linear(256, 625)\nif tiny:\n  self.b = nn.Linear(625, 8)\nelse:\n  self.b = nn.Linear(625, 9)",
            "return self.b(self.a(x))",
            625,
            632,
            [2, 256],
        ),
    ],
)
def test_both_sides_of_a_hidden_width_change(layers: str, forward: str, old: int, new: int, shape: list[int]) -> None:
    result = widened(layers, forward, old, new)
    text = network(layers, forward)
    if "if tiny" in text:
        text, result = ("tiny = True\n" + part for part in (text, result))
    is_embedding = "Embedding" in layers
    before, after = output(text, shape, is_embedding), output(result, shape, is_embedding)
    assert after[0] == before[0]
    assert after[1] > before[1]


def test_the_same_edits_stand_at_either_layer() -> None:
    first, second = check(network(LINEAR, "return self.b(self.a(x))"), "PPF306")
    assert first.fix == second.fix
    assert first.fix is not None
    assert [edit.content for edit in first.fix.edits] == ["632", "632"]
    assert "more weights" in first.fix.reason
    assert "checkpoints of the old shape no longer load" in first.fix.reason
    assert "choose 632 for it on both sides" in first.message


@pytest.mark.parametrize(
    ("layers", "forward"),
    [
        ("n = 625\nself.a = nn.Linear(256, n)\nself.b = nn.Linear(n, 8)", "return self.b(self.a(x))"),
        (LINEAR, "return self.b(self.a(x) @ self.a.weight.T)"),
        (LINEAR, "f = self.a\nreturn self.b(f(x))"),
        (LINEAR, "return self.b(x)"),
        (LINEAR, "return self.a(x), self.b(self.a(x))"),  # the caller gets the width
        (LINEAR, "self.seen = self.a(x)\nreturn self.b(self.seen)"),
        (LINEAR, "y = self.a(x)\nreturn self.b(y + paddle.ones([625]))"),
        (LINEAR, "y = self.a(x)\nreturn self.b(y[..., :625])"),
        (LINEAR, "y = self.a(x).reshape([-1, 625])\nreturn self.b(y)"),
        (LINEAR, "y = self.a(x)\nreturn self.b(paddle.concat([y, y])[:2])"),
        (LINEAR, "y = self.a(x)\nif x.sum() > 0:\n    y = x\nreturn self.b(y)"),
        (LINEAR, "y = self.a(x=x)\nreturn self.b(y)"),
        (LINEAR, "y = self.a(x)\nz = [self.b(y) for _ in range(2)]\nreturn z[0]"),
        (LINEAR, "width = self.a(x).shape[-1]\nreturn self.b(self.a(x)) / width"),
        (LINEAR + "\nself.c = nn.Linear(1250, 8)", "y = self.a(x)\nself.b(y)\nreturn self.c(paddle.concat([y, y], 1))"),
        (LINEAR + "\nself.all = nn.LayerList([self.a, self.b])", "return self.b(self.a(x))"),
        (LINEAR + "\nself.a.weight.set_value(paddle.ones([256, 625]))", "return self.b(self.a(x))"),
        (LINEAR + "\nself.bias = self.create_parameter([625])", "return self.b(self.a(x) + self.bias)"),
        ("self.a = nn.Linear(100, 64)\nself.b = nn.Linear(64, 8)", "return self.b(self.a(x))"),
        ("self.a = self.c = nn.Linear(256, 625)\nself.b = nn.Linear(625, 8)", "return self.b(self.a(self.c(x)))"),
        ("self.a = nn.Conv2D(64, 100, 3)\nself.b = nn.Linear(100 * 49, 8)\nself.c = nn.Conv2D(100, 8, 1)",
         "x = self.a(x)\nreturn self.b(x.flatten(1)), self.c(x)"),
        ("self.a = nn.Conv2D(64, 100, 1)\nself.d = nn.Conv2D(100, 100, 3, groups=100)\nself.b = nn.Conv2D(100, 64, 1)",
         "return self.b(self.d(self.a(x)))"),
        ("self.a = nn.Conv2D(64, 100, 1)\nself.g = nn.GroupNorm(10, 100)\nself.b = nn.Conv2D(100, 64, 1)",
         "return self.b(self.g(self.a(x)))"),
        ("self.e = nn.Embedding(9, 300, weight_attr=vectors)\nself.b = nn.Linear(300, 8)", "return self.b(self.e(x))"),
        ("self.a = nn.Linear(256, 300)\nself.r = nn.GRU(300, 300)\nself.b = nn.Linear(300, 8)",
         "return self.b(self.r(self.a(x))[0])"),
        ("self.f = nn.Sequential(nn.Linear(256, 625), nn.ReLU(), nn.Linear(625, 8))\nself.f[0].weight.name = 'w'",
         "return self.f(x)"),
        ("self.f = nn.Sequential(nn.Linear(625, 256), nn.ReLU(), nn.Linear(256, 625))", "return self.f(x)"),
    ],
)  # fmt: skip
def test_widths_that_a_person_has_to_change(layers: str, forward: str) -> None:
    text = network(layers, forward)
    found = [item for item in check(text, "PPF306") if item.fix is not None]
    assert all(item.fix is not None and (item.fix.level, item.fix.edits) == (Level.DISPLAY, ()) for item in found)
    assert fixed(text, "PPF306", level=Level.UNSAFE) == text
    assert found or "625, 256" in layers  # its width belongs to the input and the output, and is not reported


@pytest.mark.parametrize(
    "more",
    [
        "class Wider(Net):\n    pass",
        "net = Net()\nnet.a.weight.stop_gradient = True",
        "net = Net()\nnet.b = nn.Linear(625, 20)",
    ],
)
def test_a_class_that_other_code_reaches_into_is_left_to_a_person(more: str) -> None:
    text = network(LINEAR, "return self.b(self.a(x))", more)
    assert set(levels(text, "PPF306")) == {Level.DISPLAY}


def test_a_class_that_another_file_reaches_into_is_left_to_a_person() -> None:
    text = network(LINEAR, "return self.b(self.a(x))")
    other = "from net import Net\n\nnet = Net()\nnet.a.weight.stop_gradient = True\n"
    assert [_level(item) for item in check({"net.py": text, "other.py": other}, "PPF306")] == [Level.DISPLAY] * 2
    harmless = "from net import Net\n\n\nclass Other:\n    def f(self):\n        return self.a\n"
    assert [_level(item) for item in check({"net.py": text, "other.py": harmless}, "PPF306")] == [Level.UNSAFE] * 2


def test_networks_made_up_at_random_run_on_after_the_fix() -> None:
    draw = random.Random(5)
    changed = 0
    for _ in range(60):
        layers, forward = _made_up(draw)
        text = network(layers, forward)
        try:
            before = output(text, [3, 256])
        except Exception:
            continue  # no network that anybody could have
        result = text
        for finding in check(text, "PPF306"):
            if finding.fix is not None and finding.fix.edits:
                result = fixer.apply(text, [finding.fix]).text
                after = output(result, [3, 256])
                assert after[0] == before[0], text
                changed += 1
    assert changed > 40


def _made_up(draw: random.Random) -> tuple[str, str]:
    """Layers around a width of 300, and a forward pass that uses them in some order, rightly or wrongly."""
    made = {
        "a": "nn.Linear(256, 300)", "b": "nn.Linear(300, 300)", "c": "nn.Linear(300, 8)", "d": "nn.Linear(256, 256)",
        "n": "nn.LayerNorm(300)", "m": "nn.BatchNorm1D(300)", "r": "nn.ReLU()", "p": "nn.PReLU(300)",
        "s": "nn.Sequential(nn.Linear(300, 300), nn.ReLU())", "t": "nn.Sequential(nn.Dropout(), nn.Linear(256, 300))",
    }  # fmt: skip
    rows = [draw.choice(["y = self.a(x)", "y = self.t(x)", "y = self.a(self.d(x))"])]
    for _ in range(draw.randrange(5)):
        rows.append(
            draw.choice(
                [
                    *("y = self.b(y)", "y = self.n(y)", "y = self.m(y)", "y = F.relu(self.p(y))", "y = y + self.s(y)"),
                    *("z = y * 2\ny = y + z", "y = y if True else y", "for _ in range(2):\n    y = self.b(self.r(y))"),
                    *(
                        "x = self.d(x)\ny = y + self.a(x)",
                        "y = y[:, :300]",
                        "y = y.flatten(1)",
                        "y = y + paddle.ones([300])",
                    ),
                    *("with paddle.no_grad():\n    y = self.n(y)", "if self.training:\n    y = F.dropout(y)"),
                ]
            )
        )
    rows.append(draw.choice(["return self.c(y)", "return self.c(y) + self.c(self.r(y))", "return y"]))
    return "\n".join(f"self.{name} = {value}" for name, value in made.items()), "\n".join(rows)


def _level(finding: Finding) -> Level | None:
    return finding.fix.level if finding.fix is not None else None
