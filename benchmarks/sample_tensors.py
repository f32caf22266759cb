"""One batch of samples that are Paddle tensors, and of samples that are arrays, on the CPU without workers.

python benchmarks/sample_tensors.py
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import paddle
from record import in_turns, write


class Samples:
    """Samples of an array and a label."""

    def __init__(self, shape: tuple[int, ...], count: int, as_tensors: bool) -> None:
        self.data = np.zeros(shape, dtype="float32")
        self.count = count
        self.as_tensors = as_tensors

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        if self.as_tensors:
            return paddle.to_tensor(self.data), paddle.to_tensor(index % 10)
        return np.asarray(self.data), np.asarray(index % 10)

    def __len__(self) -> int:
        return self.count


def loading(shape: tuple[int, ...], batch: int, as_tensors: bool) -> Callable[[], float]:
    """Milliseconds for a batch, the first one not counted."""

    def run() -> float:
        loader = paddle.io.DataLoader(Samples(shape, batch * 11, as_tensors), batch_size=batch)
        batches = iter(loader)
        next(batches)
        start = time.perf_counter()
        count = sum(1 for _ in batches)
        return (time.perf_counter() - start) / count * 1e3

    return run


if __name__ == "__main__":
    results = {}
    for name, shape, batch in (("16 numbers", (16,), 256), ("an image", (3, 224, 224), 16)):
        spellings = {"tensors": loading(shape, batch, True), "arrays": loading(shape, batch, False)}
        results[f"{batch} samples of {name}"] = in_turns(spellings, rounds=5)
    write({"milliseconds_per_batch": results})
