"""How long an epoch takes to give its first batch, with workers that stay and with new ones, on the CPU.

python benchmarks/persistent_workers.py
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import paddle
from record import in_turns, write

EPOCHS = 5


class Images:
    """Samples of one small image."""

    def __getitem__(self, index: int) -> npt.NDArray[Any]:
        return np.full((3, 32, 32), index, dtype="float32")

    def __len__(self) -> int:
        return 64


def starting(stay: bool) -> Callable[[], float]:
    """Milliseconds from the start of an epoch to its first batch; the first epoch is not counted."""

    def run() -> float:
        loader = paddle.io.DataLoader(Images(), batch_size=8, num_workers=2, persistent_workers=stay)
        waited = 0.0
        for epoch in range(EPOCHS + 1):
            start = time.perf_counter()
            batches = iter(loader)
            next(batches)
            waited += (time.perf_counter() - start) * bool(epoch)
            for _ in batches:
                pass
        return waited / EPOCHS * 1e3

    return run


if __name__ == "__main__":
    spellings = {"persistent_workers=True": starting(True), "persistent_workers=False": starting(False)}
    write({"milliseconds_to_the_first_batch": in_turns(spellings, rounds=3)})
