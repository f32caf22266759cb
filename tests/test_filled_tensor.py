"""PPF912: which tensors a loop fills part by part, where one `stack` after it would do."""

from __future__ import annotations

import pytest

from tests.support import check

TEXT = """\
import paddle
from paddle import nn


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(64, 64)

    def forward(self, x, targets=None):
        out = {made}
        {around}
            {loop}
                x = self.layer(x)
                {write}
        return {returned}


net = Net()
optimizer = paddle.optimizer.Adam(parameters=net.parameters())
for x, y in loader:
    loss = paddle.mean(net(x, y) - y)
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
"""
USUAL = {
    "made": "paddle.zeros([x.shape[0], 20, 64])",
    "around": "if True:",
    "loop": "for i in range(x.shape[1]):",
    "write": "out[:, i] = x",
    "returned": "out",
}


def rows(**changes: str) -> int:
    return len(check(TEXT.format(**{**USUAL, **changes}), "PPF912"))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"made": "paddle.zeros_like(x).astype('float32')"},
        {"write": "out[:, i : i + 1] = x"},
        {"loop": "for i, part in enumerate(x.shape[1:]):"},
        {"loop": "for i in range(8):"},
        {"around": "if self.training and targets is not None:"},
    ],
)
def test_parts_with_a_gradient_are_reported(changes: dict[str, str]) -> None:
    assert rows(**changes) == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"made": "[None] * 20"},
        {"made": "paddle.zeros([x.shape[0], 20, 64], dtype='int64')"},  # no gradient
        {"made": "paddle.zeros([20])", "write": "out[i] = x.sum()"},  # one number each
        {"made": "paddle.zeros([x.shape[0], 20, 64])\n        out.stop_gradient = True"},  # a mask
        {"around": "with paddle.no_grad():"},
        {"around": "if not self.training:"},
        {"loop": "for i in range(7):"},  # few
        {"write": "out[:, i] = 1.0"},
        {"write": "out[:, i] = out[:, i] + x"},  # reads what it has written
        {"write": "out[:, 0] = x"},  # always the same part
        {"write": "out[:, : x.shape[1]] = x"},  # padding
        {"write": "out[x > 0] = x"},  # a mask
        {"write": "out[:, i] = paddle.histogram(x)"},  # has no batch
    ],
)
def test_what_a_list_would_not_make_better_is_not(changes: dict[str, str]) -> None:
    assert rows(**changes) == 0


def test_a_picture_for_people_is_none() -> None:
    text = TEXT.format(**USUAL).replace("def forward", "def make_grid").replace("net(x, y)", "net.make_grid(x, y)")
    assert check(text, "PPF912") == []


def test_a_tensor_that_nothing_reads_has_no_gradient() -> None:
    assert rows(returned="x") == 0
    assert rows(returned="out * 2") == 1


def test_a_mask_has_no_gradient() -> None:
    text = TEXT.format(**USUAL).replace("out", "length_masks")
    assert not check(text, "PPF912")


HELPER = """\
import paddle


def filled(layer, x):
    out = paddle.zeros([8, 20, 64])
    for i in range(20):
        x = layer(x)
        out[:, i] = x
    return x, out


layer = paddle.nn.Linear(64, 64)
optimizer = paddle.optimizer.Adam(parameters=layer.parameters())
for x in loader:
    last, parts = filled(layer, x)
    loss = {loss}.mean()
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
"""


def test_a_part_of_a_result_that_no_caller_reads_has_no_gradient() -> None:
    assert not check(HELPER.format(loss="last"), "PPF912")
    assert len(check(HELPER.format(loss="(last + parts.sum())"), "PPF912")) == 1


LAYERS = """\
import paddle
from paddle import nn


class Decoder(nn.Layer):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(64, 64)

    def forward(self, x):
        out = paddle.zeros([8, 20, 64])
        for i in range(20):
            x = self.layer(x)
            out[:, i] = x
        return x, out


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.decoder = Decoder()

    def forward(self, x):
        last, parts = self.decoder(x)
        return {returned}


net = Net()
optimizer = paddle.optimizer.Adam(parameters=net.parameters())
for x in loader:
    loss = net(x).mean()
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
"""


def test_a_part_of_what_a_layer_returns_to_another() -> None:
    assert not check(LAYERS.format(returned="last"), "PPF912")
    assert len(check(LAYERS.format(returned="last, parts"), "PPF912")) == 1
    other = LAYERS.format(returned="last") + "\n\ndecoder = Decoder()\nprint(decoder(x)[1].sum())\n"
    assert len(check(other, "PPF912")) == 1


DECODER = """\
import paddle
from paddle import nn


class Decoder(nn.Layer):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(64, 64)
        self.head = nn.Linear(64, 8)
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        out = paddle.zeros([x.shape[0], x.shape[1], 8])
        state = paddle.zeros([x.shape[0], 64])
        last = x[:, 0]
        for step in range(x.shape[1]):
            state, _ = self.cell({given}, state)
            {body}
        return out


net = Decoder()
optimizer = paddle.optimizer.Adam(parameters=net.parameters())
for x, y in loader:
    loss = paddle.mean(net(x) - y)
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
"""


@pytest.mark.parametrize(
    ("given", "body", "is_late"),
    [
        ("x[:, step]", "out[:, step] = self.head(state)", True),
        ("x[:, step]", "scores = self.head(state); out[:, step] = scores", True),
        ("x[:, step]", "scores = self.drop(state); out[:, step] = scores", False),  # not a layer of the last axis
        ("last", "last = self.head(state); out[:, step] = last", False),  # the next pass reads it
    ],
)
def test_a_layer_whose_results_no_pass_reads_can_run_once(given: str, body: str, is_late: bool) -> None:
    [finding] = check(DECODER.format(given=given, body=body), "PPF912")
    assert ("collect what `self.head` gets, which then makes all parts in one call" in finding.message) is is_late
