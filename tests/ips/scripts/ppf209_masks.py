"""PPF209: the masks of a validation batch are read one by one, after each short epoch of a segmentation network."""

from __future__ import annotations

import tempfile
from pathlib import Path

import networks
import numpy as np
import paddle
import photos
import running
from paddle.nn.functional import cross_entropy, interpolate, softmax

EPOCH = 2
"""Steps."""


@paddle.no_grad()  # type: ignore[untyped-decorator]  # mypy sees nothing of Paddle
def save_masks(network: paddle.nn.Layer, images: paddle.Tensor, folder: Path) -> None:
    probabilities = softmax(interpolate(network(images), scale_factor=4), axis=1)
    for number in range(len(images)):
        np.save(folder / f"{number}.npy", probabilities[number, 1].numpy())


def train(steps: int, batch: int, side: int) -> float:
    loader = paddle.io.DataLoader(
        paddle.io.TensorDataset(photos.in_memory(EPOCH * batch, side)), batch_size=batch, shuffle=True
    )
    network = networks.segmenter()
    optimizer = paddle.optimizer.Momentum(0.01, parameters=network.parameters())
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(steps // EPOCH):
            for images, labels in loader:
                loss = cross_entropy(network(images).mean([2, 3]), labels)
                loss.backward()
                optimizer.step()
                optimizer.clear_grad()
            save_masks(network, images, Path(folder))
    return float(loss)


if __name__ == "__main__":
    running.start(train, steps=40, batch=32, side=96)
