"""Attention that a layer writes out: which is seen, and the call that takes its place."""

from __future__ import annotations

import pytest

from perflint.rules.written_attention import WrittenAttention, trained_attention, written_attention
from tests.support import check, project

LAYER = """
import math
import paddle
import paddle.nn.functional as F
from paddle import nn
class Attention(nn.Layer):
    def __init__(self, dim, heads, qk_scale=None):
        super().__init__()
        self.heads = heads
        self.head_dim = dim // heads
        self.scale = self.head_dim ** -0.5
        self.qkv = nn.Linear(dim, dim * 3)
        self.drop = nn.Dropout(0.1)
        self.other = nn.LayerNorm(dim)
    def forward(self, x, mask=None):
        b, n, c = x.shape
        q, k, v = self.qkv(x).reshape([b, n, 3, self.heads, {width}]).transpose([2, 0, 3, 1, 4])
{body}
        return out
"""
USUAL = """
        a = q @ k.transpose([0, 1, 3, 2]) * self.scale
        a = F.softmax(a, axis=-1)
        out = (a @ v).transpose([0, 2, 1, 3])
"""
TRAIN = """
def train(loader):
    model = Attention(64, 8)
    opt = paddle.optimizer.AdamW(parameters=model.parameters())
    for x, y in loader:
        loss = F.mse_loss(model(x), y)
        loss.backward()
        opt.step()
"""
HEADS = ".transpose([0, 2, 1, 3])"


def found(body: str, width: str = "c // self.heads") -> list[WrittenAttention]:
    files = project({"net.py": LAYER.format(body=body, width=width)})
    return list(written_attention(files.files["net.py"]))


def only(body: str, width: str = "c // self.heads") -> WrittenAttention:
    (one,) = found(body, width)
    return one


def test_the_parts_of_attention() -> None:
    one = only(USUAL)
    assert (one.weights.factor, one.weights.is_usual, one.dropout, one.is_turned) == ("self.scale", True, "", True)
    assert len(one.steps) == 2


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("q @ k.transpose([0, 1, 3, 2])", "paddle.matmul(q, k, transpose_y=True)"),
        ("q @ k.transpose([0, 1, 3, 2])", "q.matmul(paddle.transpose(k, [0, 1, 3, 2]))"),
        ("* self.scale", "/ math.sqrt(self.head_dim)"),
        ("(a @ v)", "paddle.matmul(a, v)"),
        ("F.softmax(a, axis=-1)", "a.softmax(axis=-1)"),
        ("F.softmax(a, axis=-1)", "F.softmax(a)"),
    ],
)
def test_other_ways_to_write_it(old: str, new: str) -> None:
    assert USUAL.count(old) == 1
    assert only(USUAL.replace(old, new)).weights.is_usual


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("* self.scale", "* 0.3"),
        ("* self.scale", ""),
        ("* self.scale", "/ self.head_dim"),
        ("* self.scale", "* math.sqrt(self.head_dim)"),
    ],
)
def test_another_scale(old: str, new: str) -> None:
    assert not only(USUAL.replace(old, new)).weights.is_usual


def test_heads_of_another_width_than_the_scale_is_made_for() -> None:
    assert not only(USUAL, "self.inner").weights.is_usual


def test_a_scale_that_a_configuration_may_give_is_not_the_usual_one() -> None:
    layer = LAYER.format(body=USUAL, width="self.head_dim").replace("self.scale = ", "self.scale = qk_scale or ")
    (one,) = written_attention(project({"net.py": layer}).files["net.py"])
    assert not one.weights.is_usual


def test_queries_that_are_scaled_beforehand() -> None:
    one = only("        q = q * self.scale\n" + USUAL.replace(" * self.scale", ""))
    assert one.weights.is_usual and len(one.steps) == 3


def test_dropout_between_softmax_and_values() -> None:
    drop = "F.softmax(a, axis=-1)\n        a = "
    layer = only(USUAL.replace("F.softmax(a, axis=-1)", drop + "self.drop(a)"))
    function = only(USUAL.replace("F.softmax(a, axis=-1)", drop + "F.dropout(a, 0.2, training=self.training)"))
    assert (layer.dropout, function.dropout) == ("self.drop.p", "0.2")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("axis=-1)", "axis=1)"),
        ("axis=-1)", "axis=-1)\n        self.kept = a"),
        ("axis=-1)", "axis=-1)\n        print(a.shape)"),
        ("axis=-1)", "axis=-1)\n        a = self.other(a)"),
        ("axis=-1)", "axis=-1)\n        a = F.dropout(a, 0.2)"),
        ("* self.scale", "* self.scale + self.bias"),
        ("q @ k.transpose([0, 1, 3, 2])", "q @ k"),
        (HEADS, ""),
        (".transpose([0, 2, 1, 3])", ".transpose([0, 2, 1, 3]), a"),
    ],
)
def test_what_the_fused_kernel_cannot_do(old: str, new: str) -> None:
    assert USUAL.count(old) == 1
    assert found(USUAL.replace(old, new)) == []


def test_a_mask_where_there_is_one() -> None:
    under = "* self.scale\n        if mask is not None:\n            a = a + mask"
    assert only(USUAL.replace("* self.scale", under)).weights.mask is not None
    assert found(USUAL.replace("* self.scale", under.replace("mask is not None", "self.training"))) == []


def test_the_model_that_is_trained() -> None:
    text = LAYER.format(body=USUAL, width="self.head_dim")
    (one,) = trained_attention(project({"net.py": text + TRAIN}))
    assert one.is_sure and not one.others
    unknown = TRAIN.replace("Attention(64, 8)", "build(64)")
    (other,) = trained_attention(project({"net.py": text + unknown}))
    assert not other.is_sure
    plain = "\nclass Plain(nn.Layer):\n    def forward(self, x):\n        return x * 2\n"
    assert not trained_attention(project({"net.py": text + plain + TRAIN.replace("Attention(64, 8)", "Plain()")}))


def test_no_advice_where_a_fused_kernel_is_named() -> None:
    text = LAYER.format(body=USUAL, width="self.head_dim") + TRAIN
    assert len(check(text, "PPF902")) == 1
    assert not check(text + "\nuse = F.scaled_dot_product_attention\n", "PPF902")
