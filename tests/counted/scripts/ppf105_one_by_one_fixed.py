"""PPF105: the loader has no batch size, so each step trains one sample."""

from __future__ import annotations

import paddle
import samples
from paddle.nn.functional import cross_entropy


def train(count: int) -> paddle.Tensor:
    loader = paddle.io.DataLoader(samples.Points(count), shuffle=True, batch_size=8)
    network = samples.network()
    optimizer = paddle.optimizer.SGD(0.01, parameters=network.parameters())
    for x, y in loader:
        loss = cross_entropy(network(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
    return loss


if __name__ == "__main__":
    train(10)
