"""PPF905: the rows of a table are chosen by a product with zeros and ones."""

from __future__ import annotations

import paddle
import samples
from paddle import nn
from paddle.nn import functional


class Positions(nn.Layer):  # type: ignore[misc]  # mypy sees nothing of Paddle
    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size
        self.table = self.create_parameter([size, samples.WIDTH])

    def forward(self, index: paddle.Tensor) -> paddle.Tensor:
        return paddle.matmul(functional.one_hot(index.astype("int64"), num_classes=self.size), self.table)


def train(steps: int) -> paddle.Tensor:
    network = Positions(64)
    optimizer = paddle.optimizer.SGD(0.01, parameters=network.parameters())
    for x, y in samples.batches(steps):
        loss = functional.mse_loss(network(y), x)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
    return loss


if __name__ == "__main__":
    train(10)
