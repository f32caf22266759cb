"""What the scripts train: networks of a few layers, on batches of random numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import paddle
from paddle import nn

BATCH, WIDTH, CLASSES = 4, 8, 3


def network(layers: int = 2) -> nn.Layer:
    """Linear layers of one width, and one that scores the classes."""
    hidden = [layer for _ in range(layers) for layer in (nn.Linear(WIDTH, WIDTH), nn.ReLU())]
    return nn.Sequential(*hidden, nn.Linear(WIDTH, CLASSES))


class Points(paddle.io.Dataset):  # type: ignore[misc]  # mypy sees nothing of Paddle
    """``count`` features, with a class each."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.features = np.zeros([count, WIDTH], "float32")

    def __len__(self) -> int:
        return len(self.features)

    def __getitem__(self, index: int) -> tuple[npt.NDArray[Any], int]:
        return self.features[index], index % CLASSES


def batches(steps: int) -> Iterator[tuple[paddle.Tensor, paddle.Tensor]]:
    """``steps`` batches of features and classes, on the device already."""
    for _ in range(steps):
        yield paddle.rand([BATCH, WIDTH]), paddle.randint(0, CLASSES, [BATCH])


def images(steps: int, side: int = 8) -> Iterator[tuple[paddle.Tensor, paddle.Tensor]]:
    """``steps`` batches of pictures with three channels, and what a network is to say of each.

    While a static graph is built, they are the places of the graph where such batches will be put.
    """
    shape, target = [BATCH, 3, side, side], [BATCH, CLASSES]
    for _ in range(steps):
        if paddle.in_dynamic_mode():
            yield paddle.rand(shape), paddle.rand(target)
        else:
            yield paddle.static.data("x", shape), paddle.static.data("y", target)
