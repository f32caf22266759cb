"""PPF104: an epoch of a few steps, whose workers stay for the next one."""

from __future__ import annotations

import networks
import paddle
import photos
import running
from paddle.nn.functional import cross_entropy

EPOCH = 10


def train(steps: int, batch: int, side: int) -> float:
    loader = paddle.io.DataLoader(
        photos.Photos(EPOCH * batch, side), batch_size=batch, num_workers=2, persistent_workers=True
    )
    network = networks.classifier()
    optimizer = paddle.optimizer.Momentum(0.01, parameters=network.parameters())
    for _ in range(steps // EPOCH):
        for images, labels in loader:
            loss = cross_entropy(network(images), labels)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
    return float(loss)


if __name__ == "__main__":
    running.start(train, steps=60, batch=8, side=64)
