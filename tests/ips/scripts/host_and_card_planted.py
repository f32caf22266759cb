"""A step that host and card take turns in, and that the host makes ``EXTRA_MS`` longer: no rule is about it."""

from __future__ import annotations

import time

import host_and_card
import paddle
import photos
from paddle.nn.functional import cross_entropy

EXTRA_MS = 0.0
"""Milliseconds for each step; the test writes another number here."""


def train(steps: int, batch: int, side: int) -> float:
    loader = paddle.io.DataLoader(
        paddle.io.TensorDataset(photos.in_memory(steps * batch, side)), batch_size=batch, shuffle=True
    )
    network = host_and_card.network(side)
    optimizer = paddle.optimizer.Momentum(0.01, parameters=network.parameters())
    value = 0.0
    for images, labels in loader:
        loss = cross_entropy(network(images), labels)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        value = float(loss)  # the card is done: what the host does now makes the step longer
        end = time.perf_counter() + EXTRA_MS / 1000
        while time.perf_counter() < end:
            pass
    return value


if __name__ == "__main__":
    host_and_card.start(train, steps=60, batch=32, side=64)
