"""PPF302: AMP at level O2, and weights that stay in float32."""

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
    for x, y in samples.images(steps):
        with paddle.amp.auto_cast(level="O2", dtype="bfloat16"):
            scores = network(x)
        loss = mse_loss(scores.astype("float32"), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
    return loss


if __name__ == "__main__":
    train(10)
