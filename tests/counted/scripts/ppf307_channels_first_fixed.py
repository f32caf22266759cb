"""PPF307: convolutions that get their channels first, under AMP."""

from __future__ import annotations

import paddle
import samples
from paddle import nn
from paddle.nn.functional import mse_loss


class Network(nn.Layer):  # type: ignore[misc]  # mypy sees nothing of Paddle
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2D(3, 64, 3, padding=1, data_format="NHWC"), nn.ReLU(),
            nn.Conv2D(64, 64, 3, padding=1, data_format="NHWC"), nn.ReLU(),
            nn.AdaptiveAvgPool2D(1, data_format="NHWC"), nn.Flatten(),
        )  # fmt: skip
        self.head = nn.Linear(64, samples.CLASSES)

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        return self.head(self.body(x))


def train(steps: int) -> paddle.Tensor:
    network = Network()
    optimizer = paddle.optimizer.Momentum(0.01, parameters=network.parameters())
    for x, y in samples.images(steps):
        x = x.transpose([0, 2, 3, 1])
        with paddle.amp.auto_cast(dtype="bfloat16"):
            loss = mse_loss(network(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
    return loss


if __name__ == "__main__":
    train(10)
