"""PPF205: the weights of the losses of a small detector's levels are made tensors at each step."""

from __future__ import annotations

import numpy as np
import paddle
import photos
import running
from paddle import nn
from paddle.nn.functional import relu, smooth_l1_loss

LEVELS = 6


def boxes(count: int, side: int) -> list[photos.Array]:
    """Features of places in pictures, and the box at each."""
    random = np.random.default_rng(0)
    features = random.random((count, side), dtype="float32")
    return [features, features[:, :4]]


def train(steps: int, batch: int, side: int) -> float:
    loader = paddle.io.DataLoader(paddle.io.TensorDataset(boxes(steps * batch, side)), batch_size=batch, shuffle=True)
    body = nn.Linear(side, side)
    heads = nn.LayerList([nn.Linear(side, 4) for _ in range(LEVELS)])
    optimizer = paddle.optimizer.SGD(0.01, parameters=[*body.parameters(), *heads.parameters()])
    for features, box in loader:
        seen = relu(body(features))
        loss = paddle.to_tensor(0.0)
        for head in heads:
            missed = smooth_l1_loss(head(seen), box)
            loss = loss + missed * paddle.to_tensor(5.0) + missed.square() * paddle.to_tensor(0.5)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
    return float(loss)


if __name__ == "__main__":
    running.start(train, steps=1500, batch=16, side=32)
