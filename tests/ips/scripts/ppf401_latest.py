"""PPF401: the weights are written to the disk at each step."""

from __future__ import annotations

import tempfile
from pathlib import Path

import networks
import paddle
import photos
import running
from paddle.nn.functional import cross_entropy


def train(steps: int, batch: int, side: int) -> float:
    loader = paddle.io.DataLoader(
        paddle.io.TensorDataset(photos.in_memory(steps * batch, side)), batch_size=batch, shuffle=True
    )
    network = paddle.nn.Sequential(networks.classifier(), paddle.nn.Linear(10, 2000), paddle.nn.Linear(2000, 1000))
    optimizer = paddle.optimizer.SGD(0.01, parameters=network.parameters())
    with tempfile.TemporaryDirectory() as folder:
        for step, (images, labels) in enumerate(loader):
            loss = cross_entropy(network(images), labels)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            paddle.save(network.state_dict(), str(Path(folder, f"{step % 2}.pdparams")))
    return float(loss)


if __name__ == "__main__":
    running.start(train, steps=60, batch=16, side=64)
