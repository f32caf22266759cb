"""PPF308: a network is trained in float64."""

from __future__ import annotations

import paddle
import samples
from paddle.nn.functional import cross_entropy

paddle.set_default_dtype("float64")


def train(steps: int) -> paddle.Tensor:
    network = samples.network()
    optimizer = paddle.optimizer.SGD(0.01, parameters=network.parameters())
    for _ in range(steps):
        loss = cross_entropy(
            network(paddle.rand([samples.BATCH, samples.WIDTH])), paddle.zeros([samples.BATCH], "int64")
        )
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
    return loss


if __name__ == "__main__":
    train(10)
