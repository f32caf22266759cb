"""One batch of a dataset that keeps its data as a Paddle tensor, and of one that keeps an array, on the CPU.

    python benchmarks/tensor_items.py

Without workers; both datasets take one row for each sample.
"""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import numpy as np
import paddle
from record import in_turns, write

ROWS, WIDTH, BATCH = 20_000, 32, 256


class Rows(paddle.io.Dataset):  # type: ignore[misc]  # mypy sees nothing of Paddle
    def __init__(self, data: Any) -> None:
        super().__init__()
        self.data = data

    def __getitem__(self, index: int) -> Any:
        return self.data[index]

    def __len__(self) -> int:
        return ROWS


def milliseconds(data: Any) -> float:
    """Of a batch in an epoch."""
    loader = paddle.io.DataLoader(Rows(data), batch_size=BATCH, shuffle=True)
    start = time.perf_counter()
    count = sum(1 for _ in loader)
    return (time.perf_counter() - start) / count * 1e3


if __name__ == "__main__":
    array = np.random.default_rng(0).standard_normal((ROWS, WIDTH)).astype("float32")
    ways = {"tensor": partial(milliseconds, paddle.to_tensor(array)), "array": partial(milliseconds, array)}
    write({"milliseconds": {f"{BATCH} rows of {WIDTH} numbers": in_turns(ways, rounds=7)}})
