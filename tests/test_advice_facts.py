"""What the rules that give advice about a whole program say of Paddle, run on the one that is installed."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from perflint.catalogue import shipped

np = pytest.importorskip("numpy")
paddle = pytest.importorskip("paddle")


def test_auto_cast_on_the_cpu_warns_and_changes_nothing() -> None:
    layer = paddle.nn.Linear(8, 8)
    x = paddle.ones([2, 8])
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        with paddle.amp.auto_cast(dtype="bfloat16"):
            inside = layer(x)
    assert any("makes no effect" in str(each.message) for each in heard)
    assert inside.dtype == paddle.float32
    assert (inside.numpy() == layer(x).numpy()).all()


def test_numpy_gets_the_bits_of_a_bfloat16() -> None:
    """1.0 is 0x3f80 in bfloat16: the upper half of 0x3f800000."""
    one = paddle.ones([1]).astype("bfloat16").numpy()
    assert one.dtype == np.uint16 and one[0] == 0x3F80


def test_what_means_a_loss_stays_in_float32() -> None:
    """`auto_cast` works these out in float32, so that a loss which the host reads is no bfloat16."""
    from paddle.amp.amp_lists import black_list

    kept = black_list()["bfloat16"]["O1"]
    assert {"softmax_with_cross_entropy", "mean", "reduce_mean", "reduce_sum", "log_softmax", "nll_loss"} <= kept


def test_auto_cast_leaves_other_convolutions_in_float32() -> None:
    from paddle.amp.amp_lists import white_list

    for names in (white_list()["bfloat16"]["O1"], white_list()["float16"]["O1"]):
        assert "conv2d" in names
        assert names.isdisjoint({"conv3d", "conv2d_transpose", "conv3d_transpose", "depthwise_conv2d"})


@pytest.mark.skipif(paddle.is_compiled_with_cuda(), reason="says what a build for the CPU does")
def test_a_cpu_build_does_not_know_the_flags_of_cudnn() -> None:
    with pytest.raises(ValueError, match="cudnn_exhaustive_search"):
        paddle.set_flags({"FLAGS_cudnn_exhaustive_search": True})


class _Encoder(paddle.nn.Layer):  # type: ignore[misc, name-defined]  # Paddle has no types
    def __init__(self) -> None:
        super().__init__()
        layer = paddle.nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0)
        self.body = paddle.nn.TransformerEncoder(layer, 2)

    def forward(self, x: Any) -> Any:
        return self.body(x)


def test_a_static_graph_trains_to_the_same_bits() -> None:
    """Two lengths of inputs, so that two graphs are made; the layer stays the same object, with the same names."""

    def losses(static: bool) -> tuple[list[float], list[str]]:
        paddle.seed(1)
        model = _Encoder()
        optimizer = paddle.optimizer.AdamW(1e-3, parameters=model.parameters())
        names = list(model.state_dict())
        if static:
            assert paddle.jit.to_static(model) is model
        assert list(model.state_dict()) == names
        found = []
        for step in range(4):
            loss = model(paddle.full([2, 3 + step % 2, 16], 0.1 * step)).square().mean()
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            found.append(loss.item())
        return found, names

    assert losses(static=True) == losses(static=False)


def _attention() -> tuple[Any, Any, Any]:
    """Queries, keys and values with the axes batch, heads, sequence and width."""
    paddle.seed(3)
    tensors = [paddle.randn([2, 4, 6, 8]) for _ in range(3)]
    for each in tensors:
        each.stop_gradient = False
    return tensors[0], tensors[1], tensors[2]


def _written(q: Any, k: Any, v: Any, scale: float, mask: Any = None) -> Any:
    scores = paddle.matmul(q, k, transpose_y=True) * scale
    weights = paddle.nn.functional.softmax(scores if mask is None else scores + mask)
    return paddle.matmul(weights, v).transpose([0, 2, 1, 3])


def _in_one_call(q: Any, k: Any, v: Any, **settings: Any) -> Any:
    turned = [each.transpose([0, 2, 1, 3]) for each in (q, k, v)]
    return paddle.nn.functional.scaled_dot_product_attention(*turned, **settings)


def _gradients(out: Any, tensors: tuple[Any, Any, Any]) -> list[Any]:
    return [each.numpy() for each in paddle.grad(out.square().sum(), list(tensors))]


def test_one_call_gives_the_attention_that_is_written_out() -> None:
    """The usual scale is one over the root of the width, 8; dropout is off where a layer is not training."""
    q, k, v = _attention()
    mask = paddle.randn([2, 1, 6, 6])
    for given in (None, mask):
        one, other = _written(q, k, v, 8**-0.5, given), _in_one_call(q, k, v, attn_mask=given)
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-5, atol=1e-6)
        for first, second in zip(_gradients(one, (q, k, v)), _gradients(other, (q, k, v)), strict=True):
            np.testing.assert_allclose(first, second, rtol=1e-4, atol=1e-5)
    off = _in_one_call(q, k, v, dropout_p=0.9, training=False)
    np.testing.assert_allclose(off.numpy(), _written(q, k, v, 8**-0.5).numpy(), rtol=1e-5, atol=1e-6)


_FIXED = [each for each in shipped()["PPF902"].examples if each.fixed]


@pytest.mark.parametrize("example", _FIXED, ids=lambda each: each.title)
def test_the_fixed_examples_give_the_same_attention(example: Any) -> None:
    """The layers of the examples, with the same weights, in evaluation, so that no dropout draws numbers."""
    layers = []
    for text in (example.bad, example.fixed):
        names: dict[str, Any] = {}
        exec(text, names)
        layers.append(names["Attention"](32, 4))
    layers[1].set_state_dict(layers[0].state_dict())
    x = paddle.randn([2, 6, 32])
    one, other = (layer.eval()(x).numpy() for layer in layers)
    np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_queries_make_up_for_another_scale() -> None:
    q, k, v = _attention()
    one, other = _written(q, k, v, 0.5), _in_one_call(q * (0.5 * q.shape[-1] ** 0.5), k, v)
    np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-5, atol=1e-6)
    unscaled = _in_one_call(q * q.shape[-1] ** 0.5, k, v)
    np.testing.assert_allclose(_written(q, k, v, 1.0).numpy(), unscaled.numpy(), rtol=1e-5, atol=1e-6)


def test_the_call_takes_heads_after_the_sequence() -> None:
    """Handed over as [batch, heads, sequence, width], heads and sequence change places: other numbers, same shape."""
    q, k, v = _attention()
    wrong = paddle.nn.functional.scaled_dot_product_attention(q, k, v)
    assert wrong.shape == [2, 4, 6, 8]
    right = _in_one_call(q, k, v).transpose([0, 2, 1, 3])
    assert float((wrong - right).abs().max()) > 0.1


def test_a_scale_rules_out_the_fastest_kernel() -> None:
    from paddle.nn.functional import sdpa

    shape = paddle.randn([2, 6, 4, 8]).shape
    settings = {
        "query_shape": shape,
        "key_shape": shape,
        "value_shape": shape,
        "attn_mask_shape": None,
        "dropout": 0.0,
        "is_causal": False,
        "query_stop_gradient": False,
        "dtype": (paddle.bfloat16,) * 3,
        "place": (paddle.CPUPlace(),) * 3,
    }
    assert sdpa.check_scale_is_None(sdpa.SDPParams(scale=None, **settings))
    assert not sdpa.check_scale_is_None(sdpa.SDPParams(scale=0.5, **settings))


def test_a_mask_of_three_axes_does_not_fit() -> None:
    q, k, v = _attention()
    with pytest.raises(ValueError, match="Broadcast dimension mismatch"):
        _in_one_call(q, k, v, attn_mask=paddle.zeros([2, 6, 6]))


def test_a_dropout_layer_says_its_rate() -> None:
    assert paddle.nn.Dropout(0.25).p == 0.25
