"""A batch of rows of a Hugging Face dataset, whose columns of ids become Python lists, and of rows that a list keeps.

python benchmarks/arrow_rows.py

It needs the package datasets (pip install datasets).
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from record import in_turns, write

SIZES = {"32 samples of 128 tokens": (32, 128), "24 samples of 384 tokens": (24, 384)}
COLUMNS = ("input_ids", "token_type_ids", "attention_mask")
ROWS, BATCHES = 2000, 20
datasets: Any = importlib.import_module("datasets")


def tokenized(length: int) -> dict[str, list[Any]]:
    """What a tokenizer makes of some texts, with the place of an answer in each."""
    draws = np.random.default_rng(0)
    columns: dict[str, list[Any]] = {name: draws.integers(0, 30000, (ROWS, length)).tolist() for name in COLUMNS}
    return {**columns, "start_positions": list(range(ROWS)), "end_positions": list(range(ROWS))}


def reading(rows: Any, batch: int) -> Callable[[], float]:
    """Milliseconds for a batch of rows at random, without padding them."""

    def run() -> float:
        order = np.random.default_rng(1).permutation(ROWS)[: batch * BATCHES].tolist()
        start = time.perf_counter()
        for index in order:
            rows[index]
        return (time.perf_counter() - start) / BATCHES * 1e3

    return run


def padding(rows: list[dict[str, Any]], batch: int) -> Callable[[], float]:
    """Milliseconds for making arrays of a batch that is in memory, as workers or the process that trains have to."""

    def run() -> float:
        start = time.perf_counter()
        for number in range(BATCHES):
            part = rows[number * batch : (number + 1) * batch]
            for name in COLUMNS:
                np.array([row[name] for row in part], dtype="int64")
        return (time.perf_counter() - start) / BATCHES * 1e3

    return run


if __name__ == "__main__":
    results = {}
    for size, (batch, length) in SIZES.items():
        columns = tokenized(length)
        stored = datasets.Dataset.from_dict(columns)
        kept = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        runs = {
            "rows of a dataset": reading(stored, batch),
            "rows of a dataset in the format numpy": reading(stored.with_format("numpy"), batch),
            "rows of a list": reading(kept, batch),
            "arrays of the rows": padding(kept, batch),
        }
        results[size] = in_turns(runs, rounds=7)
    write({"milliseconds_per_batch": results, "datasets": datasets.__version__})
