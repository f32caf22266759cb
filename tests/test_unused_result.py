"""PPF913: which results of a step nothing reads."""

from __future__ import annotations

import pytest

from perflint.fix.fixer import apply
from tests.support import check, levels

STEP = """\
import paddle


class Trainer:
    def fit(self, model, loader, optimizer):
        for x, y in loader:
            out = model(x)
            {lines}
            loss = paddle.mean(out - y)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
        {after}
"""


def _text(*lines: str, after: str = "print(1)") -> str:
    return STEP.format(lines="\n            ".join(lines), after=after)


def _rows(*lines: str, after: str = "print(1)") -> list[int]:
    text = _text(*lines, after=after)
    found = check(text, "PPF913")
    return [text.count("\n", 0, each.start) + 1 for each in found]


@pytest.mark.parametrize(
    "lines",
    [
        ["a = paddle.fft.fft2(out)"],
        ["a = paddle.matmul(out, y)"],
        ["a = out @ paddle.exp(y)"],
        ["a = paddle.exp(out)", "a = paddle.abs(a) + paddle.exp(a)"],  # only each other
        ["self.phase = paddle.angle(paddle.fft.fft2(out))"],
        ["a, b = paddle.fft.fft2(out), paddle.exp(y)"],
    ],
)
def test_a_result_that_nothing_reads(lines: list[str]) -> None:
    assert _rows(*lines) == [8]
    text = _text(*lines)
    (found,) = check(text, "PPF913")
    assert found.fix is not None
    fixed = apply(text, [found.fix]).text
    assert fixed == text.replace("".join(f"            {line}\n" for line in lines), "")


@pytest.mark.parametrize(
    ("lines", "after"),
    [
        (["a = paddle.exp(out)"], "print(1)"),  # small
        (["a = out.reshape([-1]).squeeze(0).flatten().detach()"], "print(1)"),  # nothing is computed
        (["a = paddle.fft.fft2(out)"], "print(a)"),
        (["a = paddle.fft.fft2(out)"], "print(locals())"),
        (["a = paddle.fft.fft2(out)"], "later = lambda: a"),
        (["a = paddle.fft.fft2(out)"], "del a"),
        (["a = paddle.fft.fft2(out)", "out = out + a"], "print(1)"),
        (["a = paddle.fft.fft2(out)", "a[0] = 1"], "print(1)"),
        (["a = paddle.matmul(out, paddle.rand([4, 4]))"], "print(1)"),  # draws
        (["a = paddle.matmul(out.scale_(2.0), y)"], "print(1)"),  # changes `out`
        (["a = model(paddle.matmul(x, y))"], "print(1)"),  # layers may keep statistics
        (["_ = paddle.matmul(out, y)"], "print(1)"),  # on purpose
        (["_, a = paddle._C_ops.matmul(out, y), 1"], "print(1)"),  # may write into its arguments
        (["y.spectrum = paddle.fft.fft2(out)"], "print(1)"),
        (["self.phase = paddle.fft.fft2(out)"], "print(self.phase)"),
        (["self.phase = paddle.fft.fft2(out)"], "print([getattr(self, name) for name in ['phase']])"),
    ],
)
def test_a_result_that_is_small_or_that_something_may_need(lines: list[str], after: str) -> None:
    assert _rows(*lines, after=after) == []


def test_another_file_may_read_the_attribute() -> None:
    text = _text("self.phase = paddle.fft.fft2(out)")
    assert len(check({"train.py": text, "other.py": "def show(it):\n    return it.phases\n"}, "PPF913")) == 1
    assert check({"train.py": text, "other.py": "def show(it):\n    return it.phase\n"}, "PPF913") == []


def test_a_row_with_something_else_is_left_to_people() -> None:
    assert [level.name for level in levels(_text("a = paddle.fft.fft2(out); b = y + 1; print(b)"), "PPF913")] == [
        "DISPLAY"
    ]


OPTION = """\
import argparse
import paddle
from paddle import nn
from paddlenlp.transformers import AutoModel

parser = argparse.ArgumentParser()
parser.add_argument("--compare", action="store_true")
args = parser.parse_args()


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.encoder, self.head = {layer}, nn.Linear(8, 1)

    def forward(self, x, y):
        {made}
        if {test}:
            x = x + {read}
        {after}
        return self.head(x)


net = Net()
for x, y in loader:
    loss = net(x, y).mean()
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
"""
USUAL = {
    "layer": "nn.Linear(8, 8)",
    "made": "asked = self.encoder(y)",
    "test": "args.compare",
    "read": "asked",
    "after": "x = x.abs()",
}


@pytest.mark.parametrize(
    ("change", "is_reported"),
    [
        ({}, True),
        ({"layer": "AutoModel.from_pretrained('ernie-3.0-base-zh')"}, True),
        ({"made": "_, asked = self.encoder(y), 1"}, False),  # not only a call
        ({"layer": "nn.ReLU()"}, False),  # computes little
        ({"test": "not args.compare"}, False),  # on by default
        ({"test": "x.shape[0] > 4"}, False),
        ({"after": "x = x + asked"}, False),
        ({"after": "x = (lambda: asked)() + x"}, False),
        ({"made": "asked = 0\n        asked = self.encoder(y)"}, False),  # another value may be meant
        ({"made": "if args.compare:\n            asked = self.encoder(y)"}, False),
        ({"made": "asked = y.abs()"}, False),  # no layer
    ],
)
def test_a_layer_whose_result_only_an_option_needs(change: dict[str, str], is_reported: bool) -> None:
    text = OPTION.format(**{**USUAL, **change})
    found = check(text, "PPF913")
    assert [text[each.start :].startswith("asked = self.encoder(y)") for each in found] == [True] * is_reported
