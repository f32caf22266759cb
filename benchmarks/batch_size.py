"""Samples a second that a small network is trained on, one in each step and 32 in each step, on the CPU.

python benchmarks/batch_size.py
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import paddle
from paddle import nn
from record import in_turns, write

SAMPLES = 320


class Digits:
    """Pictures of 28 by 28 numbers with a label."""

    def __getitem__(self, index: int) -> tuple[npt.NDArray[Any], int]:
        return np.full((1, 28, 28), index, dtype="float32"), index % 10

    def __len__(self) -> int:
        return SAMPLES


def training(batch: int) -> Callable[[], float]:
    """Samples a second."""

    def run() -> float:
        network = nn.Sequential(nn.Conv2D(1, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 26 * 26, 10))
        optimizer = paddle.optimizer.SGD(1e-4, parameters=network.parameters())
        loader = paddle.io.DataLoader(Digits(), batch_size=batch)
        start = time.perf_counter()
        for images, labels in loader:
            nn.functional.cross_entropy(network(images), labels).backward()
            optimizer.step()
            optimizer.clear_grad()
        return SAMPLES / (time.perf_counter() - start)

    return run


if __name__ == "__main__":
    write({"samples_per_second": in_turns({f"batch_size={size}": training(size) for size in (1, 32)}, rounds=3)})
