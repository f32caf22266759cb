"""One row of a file of numbers that is read for each sample, and of one that is read once.

python benchmarks/repeated_reads.py
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from record import in_turns, write

ROWS = 10_000
SAMPLES = 20


def reading(row: Callable[[int], Any]) -> Callable[[], float]:
    """Milliseconds for a sample."""

    def run() -> float:
        start = time.perf_counter()
        for index in range(SAMPLES):
            row(index)
        return (time.perf_counter() - start) / SAMPLES * 1e3

    return run


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        binary, text = Path(folder, "numbers.npy"), Path(folder, "numbers.csv")
        numbers = np.random.default_rng(0).random((ROWS, 16), dtype="float32")
        np.save(binary, numbers)
        np.savetxt(text, numbers, delimiter=",")
        spellings = {
            "np.loadtxt for each sample": reading(lambda index: np.loadtxt(text, delimiter=",")[index]),
            "np.load for each sample": reading(lambda index: np.load(binary)[index]),
            "read once": reading(lambda index: numbers[index]),
        }
        write({"milliseconds_per_sample": in_turns(spellings, rounds=3)})
