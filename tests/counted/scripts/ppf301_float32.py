"""PPF301: convolutions that are trained in float32."""

from __future__ import annotations

import paddle
import samples
from paddle import nn
from paddle.nn.functional import mse_loss


def convolutions() -> nn.Layer:
    return nn.Sequential(
        nn.Conv2D(3, 64, 3, padding=1), nn.ReLU(), nn.Conv2D(64, 256, 3, padding=1), nn.ReLU(),
        nn.AdaptiveAvgPool2D(1), nn.Flatten(), nn.Linear(256, samples.CLASSES),
    )  # fmt: skip


def train(steps: int) -> paddle.Tensor:
    network = convolutions()
    optimizer = paddle.optimizer.Momentum(0.01, parameters=network.parameters())
    for x, y in samples.images(steps):
        loss = mse_loss(network(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
    return loss


if __name__ == "__main__":
    train(10)
