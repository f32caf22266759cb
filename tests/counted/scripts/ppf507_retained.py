"""PPF507: the backward pass keeps a graph that nothing goes through again."""

from __future__ import annotations

import paddle
import samples
from paddle.nn.functional import cross_entropy


def train(steps: int) -> paddle.Tensor:
    network = samples.network()
    optimizer = paddle.optimizer.SGD(0.01, parameters=network.parameters())
    for x, y in samples.batches(steps):
        loss = cross_entropy(network(x.tile([64, 1])), y.tile([64]))
        loss.backward(retain_graph=True)
        optimizer.step()
        optimizer.clear_grad()
    return loss


if __name__ == "__main__":
    train(10)
