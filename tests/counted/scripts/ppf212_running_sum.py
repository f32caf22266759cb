"""PPF212: a running sum keeps the graph of every step."""

from __future__ import annotations

import paddle
import samples
from paddle.nn.functional import cross_entropy


def train(steps: int) -> paddle.Tensor:
    network = samples.network()
    optimizer = paddle.optimizer.SGD(0.01, parameters=network.parameters())
    total = 0.0
    for x, y in samples.batches(steps):
        loss = cross_entropy(network(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        total += loss
    return total


if __name__ == "__main__":
    train(10)
