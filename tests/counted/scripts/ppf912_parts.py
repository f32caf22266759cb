"""PPF912: a tensor of zeros gets its parts one by one."""

from __future__ import annotations

import paddle
import samples
from paddle import nn

PARTS = 8


class Chain(nn.Layer):  # type: ignore[misc]  # mypy sees nothing of Paddle
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(samples.WIDTH, samples.WIDTH)

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        x = self.layer(x)
        out = paddle.zeros([x.shape[0], PARTS, samples.WIDTH])
        for part in range(PARTS):
            x = paddle.tanh(x)
            out[:, part] = x
        return out


def train(steps: int) -> paddle.Tensor:
    network = Chain()
    optimizer = paddle.optimizer.SGD(0.01, parameters=network.parameters())
    for x, _ in samples.batches(steps):
        loss = network(x).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
    return loss


if __name__ == "__main__":
    train(10)
