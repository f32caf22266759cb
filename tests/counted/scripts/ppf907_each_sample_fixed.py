"""PPF907: a product is worked out for each sample of a batch by itself."""

from __future__ import annotations

import paddle
import samples
from paddle import nn


class Gram(nn.Layer):  # type: ignore[misc]  # mypy sees nothing of Paddle
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(samples.WIDTH, samples.WIDTH)

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        x = self.layer(x).reshape([-1, 2, samples.WIDTH // 2])
        return paddle.matmul(x, x, transpose_y=True)


def train(steps: int) -> paddle.Tensor:
    network = Gram()
    optimizer = paddle.optimizer.SGD(0.01, parameters=network.parameters())
    for x, _ in samples.batches(steps):
        loss = network(x).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
    return loss


if __name__ == "__main__":
    train(10)
