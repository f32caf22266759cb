"""What the pages of the rules about gradients and optimizers say of Paddle, tried on Paddle itself (CPU)."""

from __future__ import annotations

import inspect

import numpy as np
import paddle
import pytest
from paddle import nn

from perflint import catalogue

CPU_BUILD = pytest.mark.skipif(paddle.is_compiled_with_cuda(), reason="asks for the memory of the host")


def _network(layers: int = 4, width: int = 64) -> nn.Sequential:
    paddle.seed(0)
    return nn.Sequential(*(layer for _ in range(layers) for layer in (nn.Linear(width, width), nn.ReLU())))


def _weights(network: nn.Layer) -> list[np.ndarray]:
    return [parameter.numpy() for parameter in network.parameters()]


def _same(one: nn.Layer, other: nn.Layer) -> bool:
    return all(map(np.array_equal, _weights(one), _weights(other)))


# --- PPF507: what a graph that is kept takes


def _peak(retain: bool) -> tuple[nn.Layer, int]:
    network = _network(16, 128)
    optimizer = paddle.optimizer.SGD(0.1, parameters=network.parameters())
    batch = paddle.ones([2048, 128])
    stats = paddle.base.core
    stats.host_memory_stat_reset_peak_value("Allocated", 0)
    before = stats.host_memory_stat_current_value("Allocated", 0)
    for _ in range(3):
        loss = (network(batch) ** 2).mean()
        loss.backward(retain_graph=retain)
        optimizer.step()
        optimizer.clear_grad()
    return network, stats.host_memory_stat_peak_value("Allocated", 0) - before


@CPU_BUILD
def test_ppf507_a_graph_that_is_kept_takes_memory_and_changes_no_weight() -> None:
    (freed, little), (kept, much) = _peak(retain=False), _peak(retain=True)
    assert _same(freed, kept)
    assert much > 1.5 * little


def test_ppf507_a_second_pass_needs_the_graph() -> None:
    network = _network()
    loss = network(paddle.ones([2, 64])).sum()
    loss.backward()
    with pytest.raises(SystemError, match="backward twice"):
        loss.backward()


def test_ppf507_a_state_with_its_graph_needs_that_of_the_step_before() -> None:
    network, state = _network(), paddle.ones([2, 64])
    state = network(state)
    state.sum().backward()
    with pytest.raises(SystemError, match="backward twice"):
        network(state).sum().backward()


def test_ppf507_the_parameter_stands_where_the_check_looks_for_it() -> None:
    assert list(inspect.signature(paddle.Tensor.backward).parameters)[1:3] == ["grad_tensor", "retain_graph"]


# --- PPF501: gradients that are released, and not filled with zeros


class _Branches(nn.Layer):  # type: ignore[misc]  # Paddle has no types here
    """Two layers, of which the second may be left out of a step."""

    def __init__(self) -> None:
        super().__init__()
        paddle.seed(0)
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: paddle.Tensor, both: bool) -> paddle.Tensor:
        x = self.first(x)
        return self.second(x) if both else x


def _trained(set_to_zero: bool, all_steps: bool) -> nn.Layer:
    network = _Branches()
    optimizer = paddle.optimizer.Adam(0.1, parameters=network.parameters())
    for step in range(4):
        network(paddle.ones([2, 4]), all_steps or step != 2).sum().backward()
        optimizer.step()
        optimizer.clear_grad(set_to_zero=set_to_zero)
    return network


def test_ppf501_nothing_changes_where_each_parameter_gets_a_gradient_at_each_step() -> None:
    assert _same(_trained(set_to_zero=True, all_steps=True), _trained(set_to_zero=False, all_steps=True))


def test_ppf501_a_layer_that_is_left_out_of_a_step_is_moved_by_zeros_alone() -> None:
    assert not _same(_trained(set_to_zero=True, all_steps=False), _trained(set_to_zero=False, all_steps=False))


def test_ppf501_the_gradient_is_gone_until_the_next_backward_pass() -> None:
    network = _network()
    network(paddle.ones([2, 64])).sum().backward()
    optimizer = paddle.optimizer.SGD(parameters=network.parameters())
    optimizer.clear_grad(set_to_zero=False)
    assert all(parameter.grad is None for parameter in network.parameters())


# --- PPF502: updates of all parameters together

OPTIMIZERS = pytest.mark.parametrize("optimizer", [paddle.optimizer.Adam, paddle.optimizer.Momentum])


def _updated(optimizer: type[paddle.optimizer.Optimizer], together: bool) -> nn.Layer:
    network = _network()
    update = optimizer(0.001, parameters=network.parameters(), use_multi_tensor=together)
    for _ in range(5):
        network(paddle.ones([2, 64])).sum().backward()
        update.step()
        update.clear_grad()
    return network


@OPTIMIZERS
def test_ppf502_the_weights_are_the_same_but_for_the_last_digits(optimizer: type[paddle.optimizer.Optimizer]) -> None:
    one_by_one, together = _weights(_updated(optimizer, False)), _weights(_updated(optimizer, True))
    assert all(np.allclose(one, other, rtol=0, atol=1e-6) for one, other in zip(one_by_one, together, strict=True))


@OPTIMIZERS
def test_ppf502_a_parameter_without_a_gradient_makes_it_fail(optimizer: type[paddle.optimizer.Optimizer]) -> None:
    network = _Branches()
    update = optimizer(0.001, parameters=network.parameters(), use_multi_tensor=True)
    network(paddle.ones([2, 4]), True).sum().backward()
    update.step()
    update.clear_grad(set_to_zero=False)
    network(paddle.ones([2, 4]), False).sum().backward()
    with pytest.raises(ValueError, match="grad"):
        update.step()


# --- PPF503: weight decay in the loss and in the optimizer


def _decayed(optimizer: type[paddle.optimizer.Optimizer], in_loss: bool) -> nn.Layer:
    network = _network()
    decay = 0.0 if in_loss else 0.02
    update = optimizer(0.01, parameters=network.parameters(), weight_decay=decay)
    for _ in range(3):
        loss = network(paddle.ones([2, 64])).mean()
        if in_loss:
            loss = loss + 0.5 * 0.02 * sum((p**2).sum() for p in network.parameters())
        loss.backward()
        update.step()
        update.clear_grad()
    return network


def _distance(one: nn.Layer, other: nn.Layer) -> float:
    return max(float(abs(a - b).max()) for a, b in zip(_weights(one), _weights(other), strict=True))


@pytest.mark.parametrize("optimizer", [paddle.optimizer.SGD, paddle.optimizer.Momentum, paddle.optimizer.Adam])
def test_ppf503_weight_decay_has_the_gradient_of_half_the_squares(
    optimizer: type[paddle.optimizer.Optimizer],
) -> None:
    assert _distance(_decayed(optimizer, in_loss=True), _decayed(optimizer, in_loss=False)) < 1e-6


def test_ppf503_adamw_decays_in_a_way_of_its_own() -> None:
    adamw = paddle.optimizer.AdamW
    assert _distance(_decayed(adamw, in_loss=True), _decayed(adamw, in_loss=False)) > 1e-3


# --- PPF504: gradients that a loop clips, and those that the optimizer clips


def _clipped(in_loop: bool) -> nn.Layer:
    network = _network()
    clip = None if in_loop else nn.ClipGradByGlobalNorm(0.1)
    update = paddle.optimizer.SGD(0.1, parameters=network.parameters(), grad_clip=clip)
    for _ in range(3):
        network(paddle.ones([2, 64])).sum().backward()
        norm = paddle.sqrt(sum((p.grad**2).sum() for p in network.parameters()))
        if in_loop and norm > 0.1:
            for p in network.parameters():
                p.grad.set_value(p.grad * 0.1 / norm)
        update.step()
        update.clear_grad()
    return network


def test_ppf504_both_ways_of_clipping_train_to_the_same_weights_but_for_the_last_digits() -> None:
    assert _distance(_clipped(in_loop=True), _clipped(in_loop=False)) < 1e-6


# --- PPF505: an average of the weights, by a sum of two products and by `lerp_`


def _averaged(with_lerp: bool) -> nn.Layer:
    network, average = _network(), _network()
    share, m = paddle.full([1], 1 - 0.9), 0.9
    for k, q in zip(average.parameters(), network.parameters(), strict=True):
        q.set_value(q * 2)
        if with_lerp:
            with paddle.no_grad():
                k.lerp_(q, share)
        else:
            paddle.assign(k * m + q * (1 - m), k)
    return average


def test_ppf505_both_ways_of_averaging_differ_in_the_last_digits_alone() -> None:
    assert _distance(_averaged(with_lerp=True), _averaged(with_lerp=False)) < 1e-6
    assert _distance(_averaged(with_lerp=True), _network()) > 1e-3


def test_ppf505_a_product_that_is_assigned_makes_a_new_tensor() -> None:
    weight = kept = paddle.ones([2])
    weight *= 3
    assert kept.numpy().tolist() == [1.0, 1.0] and weight.numpy().tolist() == [3.0, 3.0]


def test_ppf505_lerp_refuses_a_weight_outside_of_no_grad() -> None:
    weight = nn.Linear(2, 2).weight
    with pytest.raises(ValueError, match="IsLeafTensor"):
        weight.lerp_(paddle.ones([2, 2]), paddle.full([1], 0.5))


# --- the parameters that `match` names


@pytest.mark.parametrize("code", [code for code in catalogue.shipped() if code.startswith("PPF50")])
def test_parameters_in_match_stand_where_paddle_has_them(code: str) -> None:
    for match in catalogue.shipped()[code].match:
        if not match.parameter:
            continue
        *path, name = match.call.split(".")[1:]
        owner = paddle
        for part in path:
            owner = getattr(owner, part)
        if owner is paddle.optimizer.Optimizer:  # some of its methods are bound when it is made
            owner = paddle.optimizer.SGD(parameters=[])
        found = getattr(owner, name)
        names = [each for each in inspect.signature(found).parameters if each != "self"]
        assert match.parameter in names
        assert match.position is None or names[match.position] == match.parameter
        assert inspect.signature(found).parameters[match.parameter].default == match.default
