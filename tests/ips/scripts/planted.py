"""A loader whose batches take ``EXTRA`` longer: the script of the trial ``planted`` on the CPU, of 2026-11-22.

No rule is about it, and the suite runs it no more: 50 ms on a step of 3 ms are found by anything.
"""

from __future__ import annotations

import time
from typing import Any

import paddle
import photos
import running
from paddle import nn
from paddle.io.dataloader.collate import default_collate_fn
from paddle.nn.functional import cross_entropy

EXTRA = 0.0
"""Seconds for each batch; the trial wrote 0.05 here."""


def collate(samples: list[Any]) -> Any:
    """A batch, after the planted pause: a pause costs the same on every machine, which work does not."""
    time.sleep(EXTRA)
    return default_collate_fn(samples)


def train(steps: int, batch: int, side: int) -> float:
    dataset = photos.Photos(steps * batch, side)
    loader = paddle.io.DataLoader(dataset, batch_size=batch, shuffle=True, collate_fn=collate)
    network = nn.Sequential(nn.AdaptiveAvgPool2D(4), nn.Flatten(), nn.Linear(48, photos.CLASSES))
    optimizer = paddle.optimizer.SGD(0.01, parameters=network.parameters())
    for images, labels in loader:
        loss = cross_entropy(network(images), labels)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
    return float(loss)


if __name__ == "__main__":
    running.start(train, steps=60, batch=16, side=64)
