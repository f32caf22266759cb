"""PPF914: a layer that is meant to be frozen, and is not."""

from __future__ import annotations

import paddle
import samples
from paddle import nn


def train(steps: int) -> paddle.Tensor:
    body = nn.Linear(samples.WIDTH, samples.WIDTH)
    head = nn.Linear(samples.WIDTH, samples.WIDTH)
    body.stop_gradient = True
    optimizer = paddle.optimizer.SGD(0.01, parameters=[*body.parameters(), *head.parameters()])
    for x, _ in samples.batches(steps):
        loss = head(body(x)).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
    return loss


if __name__ == "__main__":
    train(10)
