"""PPF504: the gradients are clipped by a loop in Python, which asks for their norm on the host."""

from __future__ import annotations

import paddle
import samples
from paddle.nn.functional import cross_entropy


def clip(network: paddle.nn.Layer, limit: float) -> None:
    norm = paddle.sqrt(sum((p.grad**2).sum() for p in network.parameters()))
    if norm > limit:
        for p in network.parameters():
            p.grad.set_value(p.grad * limit / norm)


def train(steps: int) -> paddle.Tensor:
    network = samples.network()
    optimizer = paddle.optimizer.SGD(0.01, parameters=network.parameters())
    for x, y in samples.batches(steps):
        loss = cross_entropy(network(x), y)
        loss.backward()
        clip(network, 0.001)
        optimizer.step()
        optimizer.clear_grad()
    return loss


if __name__ == "__main__":
    train(10)
