"""PPF601: a validation keeps a graph that nothing asks for."""

from __future__ import annotations

import paddle
import samples
from paddle.nn.functional import cross_entropy


def validate(network: paddle.nn.Layer, batches: int) -> float:
    network.eval()
    losses = []
    for x, y in samples.batches(batches):
        losses.append(float(cross_entropy(network(x), y)))
    network.train()
    return sum(losses) / len(losses)


def train(epochs: int) -> paddle.Tensor:
    network = samples.network()
    optimizer = paddle.optimizer.SGD(0.01, parameters=network.parameters())
    for _ in range(epochs):
        for x, y in samples.batches(1):
            loss = cross_entropy(network(x), y)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
        validate(network, 4)
    return loss


if __name__ == "__main__":
    train(10)
