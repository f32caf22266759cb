"""PPF305: a scaler scales losses of a network in bfloat16, which loses no small gradients."""

from __future__ import annotations

import paddle
import samples
from paddle import nn
from paddle.nn.functional import mse_loss


def convolutions() -> nn.Layer:
    return nn.Sequential(
        nn.Conv2D(3, 64, 3, padding=1), nn.ReLU(), nn.Conv2D(64, 64, 3, padding=1), nn.ReLU(),
        nn.AdaptiveAvgPool2D(1), nn.Flatten(), nn.Linear(64, samples.CLASSES),
    )  # fmt: skip


def train(steps: int) -> paddle.Tensor:
    network = convolutions()
    optimizer = paddle.optimizer.Momentum(0.01, parameters=network.parameters())
    scaler = paddle.amp.GradScaler(init_loss_scaling=1024, use_dynamic_loss_scaling=False)
    for x, y in samples.images(steps):
        with paddle.amp.auto_cast(dtype="bfloat16"):
            loss = mse_loss(network(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.clear_grad()
    return loss


if __name__ == "__main__":
    train(10)
