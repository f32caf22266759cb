"""PPF503: the penalty on the weights is a part of the loss."""

from __future__ import annotations

import paddle
import samples
from paddle.nn.functional import cross_entropy


def train(steps: int) -> paddle.Tensor:
    network = samples.network()
    optimizer = paddle.optimizer.SGD(0.01, parameters=network.parameters(), weight_decay=0.02)
    for x, y in samples.batches(steps):
        loss = cross_entropy(network(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
    return loss


if __name__ == "__main__":
    train(10)
