"""PPF102: workers read pictures that are stored as arrays, and send the batches through a pipe."""

from __future__ import annotations

import tempfile
from pathlib import Path

import networks
import paddle
import photos
import running
from paddle.nn.functional import cross_entropy


def train(steps: int, batch: int, side: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        dataset = photos.Stored(steps * batch, side, Path(folder))
        loader = paddle.io.DataLoader(dataset, batch_size=batch, shuffle=True, num_workers=2, use_shared_memory=False)
        network = networks.light(side)
        optimizer = paddle.optimizer.Momentum(0.01, parameters=network.parameters())
        for images, labels in loader:
            loss = cross_entropy(network(images), labels)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
    return float(loss)


if __name__ == "__main__":
    running.start(train, steps=126, batch=16, side=224)
