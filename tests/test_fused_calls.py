"""The rewrites of PPF901, PPF904 and PPF905, tried on Paddle itself: what stays the same, and what differs."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import paddle
import pytest
from paddle import nn
from paddle.nn import functional

from perflint.rules.bias_before_norm import BIAS_AT

CLASSES = 7


def _gradient(loss: Callable[[paddle.Tensor], paddle.Tensor], logits: paddle.Tensor) -> tuple[float, paddle.Tensor]:
    own = logits.detach().clone()
    own.stop_gradient = False
    value = loss(own)
    value.backward()
    return float(value), own.grad


def _labels(shape: list[int]) -> paddle.Tensor:
    labels = paddle.randint(0, CLASSES, shape)
    labels.flatten()[0] = 255
    return labels


# --- PPF904


@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("weighted", [False, True])
def test_ppf904_cross_entropy_is_the_likelihood_of_log_softmax(reduction: str, weighted: bool) -> None:
    paddle.seed(0)
    logits, labels = paddle.randn([2, CLASSES, 4, 5]), _labels([2, 4, 5])
    weight = paddle.rand([CLASSES]) + 0.5 if weighted else None
    options = {"weight": weight, "ignore_index": 255, "reduction": reduction}
    two = _gradient(lambda x: functional.nll_loss(functional.log_softmax(x, axis=1), labels, **options), logits)
    one = _gradient(lambda x: functional.cross_entropy(x, labels, **options, axis=1), logits)
    assert one[0] == pytest.approx(two[0], rel=1e-5)
    assert float((one[1] - two[1]).abs().max()) < 1e-6


def test_ppf904_cross_entropy_takes_the_softmax_that_it_was_told_to_leave_out() -> None:
    paddle.seed(0)
    logits, labels = paddle.randn([6, CLASSES]), paddle.randint(0, CLASSES, [6])
    two = _gradient(lambda x: functional.cross_entropy(functional.softmax(x), labels, use_softmax=False), logits)
    one = _gradient(lambda x: functional.cross_entropy(x, labels), logits)
    twice = _gradient(lambda x: functional.cross_entropy(functional.softmax(x), labels), logits)
    assert one[0] == pytest.approx(two[0], rel=1e-5)
    assert float((one[1] - two[1]).abs().max()) < 1e-6
    assert abs(twice[0] - one[0]) > 0.1, "a softmax of a softmax is another loss"
    assert float(twice[1].abs().sum()) < float(one[1].abs().sum()) / 2


def test_ppf904_a_sigmoid_that_is_rounded_to_1_has_lost_its_gradient() -> None:
    logits, targets = paddle.to_tensor([200.0, 0.5]), paddle.to_tensor([0.0, 1.0])
    two = _gradient(lambda x: functional.binary_cross_entropy(functional.sigmoid(x), targets, reduction="sum"), logits)
    one = _gradient(lambda x: functional.binary_cross_entropy_with_logits(x, targets, reduction="sum"), logits)
    assert two[0] == pytest.approx(100 + 0.474077, rel=1e-5)
    assert one[0] == pytest.approx(200 + 0.474077, rel=1e-5)
    assert float(two[1][0]) == 0.0
    assert float(one[1][0]) == 1.0
    assert float(one[1][1]) == pytest.approx(float(two[1][1]), rel=1e-5)


@pytest.mark.parametrize(
    ("two", "one"),
    [
        (functional.nll_loss, functional.cross_entropy),
        (nn.NLLLoss.__init__, nn.CrossEntropyLoss.__init__),
        (nn.BCELoss.__init__, nn.BCEWithLogitsLoss.__init__),
    ],
)
def test_ppf904_arguments_keep_their_places(two: Callable[..., object], one: Callable[..., object]) -> None:
    names, others = (list(inspect.signature(each).parameters) for each in (two, one))
    names.remove("name")
    assert others[: len(names)] == names


def test_ppf904_positions() -> None:
    function, layer = (
        list(inspect.signature(each).parameters) for each in (functional.cross_entropy, nn.CrossEntropyLoss)
    )
    assert (function.index("axis"), function.index("use_softmax")) == (6, 7)
    assert (layer.index("axis"), layer.index("use_softmax")) == (4, 5)
    names = [list(inspect.signature(each).parameters) for each in (functional.softmax, functional.log_softmax)]
    assert all(found[:3] == ["x", "axis", "dtype"] for found in names)
    assert list(inspect.signature(functional.binary_cross_entropy).parameters)[:4] == [
        "input",
        "label",
        "weight",
        "reduction",
    ]
    logits = list(inspect.signature(functional.binary_cross_entropy_with_logits).parameters)
    assert logits[:4] == ["logit", "label", "weight", "reduction"]


# --- PPF901


def test_ppf901_parts_in_a_list_give_the_same_bits() -> None:
    paddle.seed(0)
    numbers, weights = paddle.randn([20, 3, 5]), paddle.randn([60, 5])

    def grown(x: paddle.Tensor) -> paddle.Tensor:
        out = x[0] * 2
        for row in range(1, 20):
            out = paddle.concat([out, x[row] * 2], axis=0)
        return (out * weights).sum()

    def joined(x: paddle.Tensor) -> paddle.Tensor:
        return (paddle.concat([x[row] * 2 for row in range(20)], axis=0) * weights).sum()

    two, one = _gradient(grown, numbers), _gradient(joined, numbers)
    assert two[0] == one[0]
    assert bool((two[1] == one[1]).all())


# --- PPF905


def test_ppf905_rows_that_are_looked_up_are_those_of_the_product() -> None:
    paddle.seed(0)
    table, ids = paddle.randn([50, 8]), paddle.randint(0, 50, [4, 6])
    rows = paddle.matmul(functional.one_hot(ids, 50), table)
    assert bool((rows == functional.embedding(ids, table)).all())
    weights = paddle.randn([4, 6, 8])
    two = _gradient(lambda x: (paddle.matmul(functional.one_hot(ids, 50), x) * weights).sum(), table)
    one = _gradient(lambda x: (functional.embedding(ids, x) * weights).sum(), table)
    assert float((one[1] - two[1]).abs().max()) < 1e-5


def test_ppf905_numbers_that_are_looked_up_are_those_of_the_sum() -> None:
    paddle.seed(0)
    numbers, labels = paddle.randn([4, 6, CLASSES]), paddle.randint(0, CLASSES, [4, 6])
    summed = (functional.one_hot(labels, CLASSES) * numbers).sum(axis=-1)
    taken = paddle.take_along_axis(numbers, labels.unsqueeze(-1), axis=-1).squeeze(-1)
    assert bool((summed == taken).all())


def test_ppf905_a_weight_for_each_class_is_gathered() -> None:
    paddle.seed(0)
    weight, labels = paddle.randn([CLASSES]), paddle.randint(0, CLASSES, [2, 3, 4])
    summed = paddle.sum(functional.one_hot(labels, CLASSES) * weight, axis=-1)
    gathered = paddle.gather(weight, labels.flatten()).reshape(labels.shape)
    assert bool((summed == gathered).all())
    with pytest.raises(ValueError, match="same number of dimensions"):
        paddle.take_along_axis(weight, labels.unsqueeze(-1), axis=-1)


def test_ppf905_ids_out_of_range_are_masked_first() -> None:
    weight, labels = paddle.randn([CLASSES]), paddle.to_tensor([1, 255])
    with pytest.raises(ValueError, match="Illegal index value"):
        functional.one_hot(labels, CLASSES)
    with pytest.raises(IndexError, match="must be less than"):
        paddle.gather(weight, labels)
    masked = labels * (labels != 255).astype(labels.dtype)
    assert paddle.gather(weight, masked).tolist() == [float(weight[1]), float(weight[0])]


# --- PPF903


def test_ppf903_a_bias_before_batch_norm_changes_nothing_in_training() -> None:
    image = paddle.randn([4, 3, 8, 8])
    blocks = []
    for bias in (None, False):
        paddle.seed(7)
        blocks.append(nn.Sequential(nn.Conv2D(3, 5, 3, bias_attr=bias), nn.BatchNorm2D(5)))
    with_bias, without = blocks
    assert bool((with_bias[0].weight == without[0].weight).all())
    with_bias[0].bias.set_value(paddle.to_tensor([1.0, -2.0, 0.5, 3.0, 0.0]))
    assert float((with_bias(image) - without(image)).abs().max()) < 1e-5
    (with_bias(image) ** 3).sum().backward()
    assert float(with_bias[0].bias.grad.abs().max()) < 1e-2
    assert set(with_bias.state_dict()) - set(without.state_dict()) == {"0.bias"}


def test_ppf903_weights_with_a_bias_load_without_an_error_and_predict_otherwise() -> None:
    with_bias, without = (
        nn.Sequential(nn.Conv2D(3, 5, 3, bias_attr=bias), nn.BatchNorm2D(5)) for bias in (None, False)
    )
    with_bias[0].bias.set_value(paddle.ones([5]))
    image = paddle.randn([4, 3, 8, 8])
    for _ in range(20):
        with_bias(image)
    without.set_state_dict(with_bias.state_dict())
    with_bias.eval()
    without.eval()
    assert float((with_bias(image) - without(image)).abs().max()) > 0.5


@pytest.mark.parametrize("name", sorted(BIAS_AT))
def test_ppf903_positions(name: str) -> None:
    parameters = inspect.signature(getattr(nn, name.rpartition(".")[2]).__init__).parameters
    if parameters["bias_attr"].kind is inspect.Parameter.KEYWORD_ONLY:  # from 3.3 on, where there is ``bias`` too
        assert parameters["bias"].default is True
    else:
        assert [*parameters].index("bias_attr") - 1 == BIAS_AT[name]
