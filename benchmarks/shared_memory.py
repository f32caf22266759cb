"""Batches from two workers, through shared memory and through a pipe: milliseconds a batch in the training process.

python benchmarks/shared_memory.py
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import paddle
from record import in_turns, write

BATCHES = 24
BATCH = 16
WORKERS = 2


class Images:
    """Images that are there already, so that handing them over is what is measured."""

    def __init__(self) -> None:
        self._image = np.random.default_rng(0).random((3, 224, 224), dtype="float32")

    def __getitem__(self, index: int) -> npt.NDArray[Any]:
        return self._image

    def __len__(self) -> int:
        return BATCHES * BATCH


def epoch(shared: bool) -> Callable[[], float]:
    """Milliseconds a batch of one epoch; the start of the workers is left out."""
    loader = paddle.io.DataLoader(Images(), batch_size=BATCH, num_workers=WORKERS, use_shared_memory=shared)

    def run() -> float:
        batches = iter(loader)
        next(batches)
        start = time.perf_counter()
        rest = sum(1 for _ in batches)
        return (time.perf_counter() - start) / rest * 1000

    return run


if __name__ == "__main__":
    runs = {f"use_shared_memory={shared}": epoch(shared) for shared in (True, False)}
    found = in_turns(runs, rounds=5)
    slower = found["use_shared_memory=False"] / found["use_shared_memory=True"]
    write({"milliseconds_per_batch": found, "off_against_on": slower})
