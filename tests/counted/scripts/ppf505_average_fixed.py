"""PPF505: an average of the weights is brought up to date operation by operation."""

from __future__ import annotations

import paddle
import samples
from paddle.nn.functional import cross_entropy


def train(steps: int) -> paddle.Tensor:
    network, average = samples.network(), samples.network()
    optimizer = paddle.optimizer.SGD(0.01, parameters=network.parameters())
    share = paddle.to_tensor(1.0 - 0.99)
    for x, y in samples.batches(steps):
        loss = cross_entropy(network(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        with paddle.no_grad():
            for k, q in zip(average.parameters(), network.parameters(), strict=True):
                k.lerp_(q, share)
    return loss


if __name__ == "__main__":
    train(10)
