"""PPF201: the loss is read behind the backward pass of each step, for a running mean."""

from __future__ import annotations

import host_and_card
import paddle
import photos
from paddle.nn.functional import cross_entropy


def train(steps: int, batch: int, side: int) -> float:
    loader = paddle.io.DataLoader(
        paddle.io.TensorDataset(photos.in_memory(steps * batch, side)), batch_size=batch, shuffle=True
    )
    network = host_and_card.network(side)
    optimizer = paddle.optimizer.Momentum(0.01, parameters=network.parameters())
    total = 0.0
    for images, labels in loader:
        loss = cross_entropy(network(images), labels)
        loss.backward()
        total += loss.item()
        optimizer.step()
        optimizer.clear_grad()
        host_and_card.between_steps()
    return total / steps


if __name__ == "__main__":
    host_and_card.start(train, steps=60, batch=32, side=64)
