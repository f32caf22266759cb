"""PPF310: convolutions whose evaluation is under AMP, as their training is."""

from __future__ import annotations

from collections.abc import Iterator

import paddle
import samples
from paddle import nn
from paddle.nn.functional import mse_loss


def convolutions() -> nn.Layer:
    return nn.Sequential(
        nn.Conv2D(3, 64, 3, padding=1), nn.ReLU(), nn.Conv2D(64, 256, 3, padding=1), nn.ReLU(),
        nn.AdaptiveAvgPool2D(1), nn.Flatten(), nn.Linear(256, samples.CLASSES),
    )  # fmt: skip


@paddle.no_grad()  # type: ignore[untyped-decorator]  # mypy sees nothing of Paddle
def evaluate(network: nn.Layer, dev_loader: Iterator[tuple[paddle.Tensor, paddle.Tensor]]) -> None:
    network.eval()
    for x, y in dev_loader:
        with paddle.amp.auto_cast(dtype="bfloat16"):
            mse_loss(network(x), y)
    network.train()


def train(steps: int) -> None:
    network = convolutions()
    optimizer = paddle.optimizer.Momentum(0.01, parameters=network.parameters())
    for _ in range(2):
        for x, y in samples.images(steps):
            with paddle.amp.auto_cast(dtype="bfloat16"):
                loss = mse_loss(network(x), y)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
        evaluate(network, samples.images(1))


if __name__ == "__main__":
    train(10)
