"""PPF107: each step starts the workers of a second loader anew, for one batch of it."""

from __future__ import annotations

import networks
import paddle
import photos
import running
from paddle.nn.functional import cross_entropy, mse_loss


def train(steps: int, batch: int, side: int) -> float:
    source = paddle.io.DataLoader(photos.Photos(steps * batch, side), batch_size=batch, num_workers=1)
    target = paddle.io.DataLoader(photos.Photos(steps * batch, side), batch_size=batch, shuffle=True, num_workers=2)
    network = networks.classifier()
    optimizer = paddle.optimizer.Momentum(0.01, parameters=network.parameters())
    for images, labels in source:
        unlabelled, _ = next(iter(target))
        agreement = mse_loss(network(unlabelled), network(unlabelled.flip(3)))
        loss = cross_entropy(network(images), labels) + agreement
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
    return float(loss)


if __name__ == "__main__":
    running.start(train, steps=40, batch=8, side=64)
