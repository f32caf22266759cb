"""One batch at each step, from a new iterator each time and from one that is kept, on the CPU.

python benchmarks/loader_rebuilt.py
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import paddle
from record import in_turns, write

STEPS = 12


class Images:
    """Samples of one small image."""

    def __getitem__(self, index: int) -> npt.NDArray[Any]:
        return np.full((3, 32, 32), index, dtype="float32")

    def __len__(self) -> int:
        return 400


def drawing(workers: int, keep: bool) -> Callable[[], float]:
    """Milliseconds for one batch, from one iterator or from a new one each time; the first batch is not counted."""

    def run() -> float:
        loader = paddle.io.DataLoader(Images(), batch_size=8, shuffle=True, num_workers=workers)
        batches: Iterator[Any] = (batch for _ in itertools.count() for batch in loader)
        next(batches if keep else iter(loader))
        start = time.perf_counter()
        for _ in range(STEPS):
            next(batches if keep else iter(loader))
        return (time.perf_counter() - start) / STEPS * 1e3

    return run


if __name__ == "__main__":
    results = {}
    for number in (0, 2):
        spellings = {"next(iter(loader))": drawing(number, keep=False), "next(batches)": drawing(number, keep=True)}
        measured = in_turns(spellings, rounds=5)
        results[f"num_workers={number}"] = {
            **measured,
            "ratio": measured["next(iter(loader))"] / measured["next(batches)"],
        }
    write({"milliseconds_per_batch": results})
