"""PPF502: Adam updates each parameter by itself."""

from __future__ import annotations

import paddle
import samples
from paddle.nn.functional import cross_entropy


def train(steps: int) -> paddle.Tensor:
    network = samples.network()
    optimizer = paddle.optimizer.Adam(parameters=network.parameters())
    for x, y in samples.batches(steps):
        loss = cross_entropy(network(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
    return loss


if __name__ == "__main__":
    train(10)
