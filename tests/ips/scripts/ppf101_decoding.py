"""PPF101: photographs are decoded and augmented in the training process."""

from __future__ import annotations

import networks
import paddle
import photos
import running
from paddle.nn.functional import cross_entropy


def train(steps: int, batch: int, side: int) -> float:
    dataset = photos.Photos(steps * batch, side, augment=True)
    loader = paddle.io.DataLoader(dataset, batch_size=batch, shuffle=True)
    network = networks.light(side)
    optimizer = paddle.optimizer.Momentum(0.01, parameters=network.parameters())
    for images, labels in loader:
        loss = cross_entropy(network(images), labels)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
    return float(loss)


if __name__ == "__main__":
    running.start(train, steps=90, batch=32, side=96)
