"""PPF601: the validation of a deep network, after each short epoch, keeps a graph that nothing asks for."""

from __future__ import annotations

import networks
import paddle
import photos
import running
from paddle.nn.functional import cross_entropy

EPOCH = 2
"""Steps."""

VALIDATION = 16
"""Batches."""


def validate(network: paddle.nn.Layer, loader: paddle.io.DataLoader) -> float:
    network.eval()
    losses: list[float] = []
    for images, labels in loader:
        losses.append(float(cross_entropy(network(images), labels)))
    network.train()
    return sum(losses) / len(losses)


def train(steps: int, batch: int, side: int) -> float:
    loader = paddle.io.DataLoader(
        paddle.io.TensorDataset(photos.in_memory(EPOCH * batch, side)), batch_size=batch, shuffle=True
    )
    others = paddle.io.DataLoader(paddle.io.TensorDataset(photos.in_memory(VALIDATION * batch, side)), batch_size=batch)
    network = networks.narrow()
    optimizer = paddle.optimizer.Momentum(0.01, parameters=network.parameters())
    mean = 0.0
    for _ in range(steps // EPOCH):
        for images, labels in loader:
            loss = cross_entropy(network(images), labels)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
        mean = validate(network, others)
    return mean


if __name__ == "__main__":
    running.start(train, steps=206, batch=16, side=64)
