"""PPF903: convolutions whose bias a batch norm takes away again."""

from __future__ import annotations

import paddle
import samples
from paddle import nn
from paddle.nn.functional import mse_loss


def block(channels: int) -> nn.Layer:
    return nn.Sequential(
        nn.Conv2D(channels, 8, 3, padding=1),
        nn.BatchNorm2D(8),
        nn.ReLU(),
    )


def train(steps: int) -> paddle.Tensor:
    network = nn.Sequential(block(3), nn.AdaptiveAvgPool2D(1), nn.Flatten(), nn.Linear(8, samples.CLASSES))
    optimizer = paddle.optimizer.SGD(0.01, parameters=network.parameters())
    for x, y in samples.images(steps):
        loss = mse_loss(network(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
    return loss


if __name__ == "__main__":
    train(10)
