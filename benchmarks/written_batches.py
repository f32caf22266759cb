"""What it costs to put a batch together by writing each sample into a Paddle tensor, and into a NumPy array.

    python benchmarks/written_batches.py

On the CPU, in one process; the array becomes a tensor at the end, as the loader makes it one.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import numpy as np
import paddle
from record import in_turns, write

BATCHES = {
    "64 spectra of up to 300 frames of 80 numbers": [(150 + 7 * at % 151, 80) for at in range(64)],
    "96 images of [3, 256, 128]": [(3, 256 * 128)] * 96,
}


def written(samples: list[paddle.Tensor]) -> paddle.Tensor:
    """Write each tensor into one of zeros."""
    out = paddle.zeros([len(samples), max(each.shape[0] for each in samples), samples[0].shape[1]])
    for at, each in enumerate(samples):
        out[at, : each.shape[0], :] = each
    return out


def filled(samples: list[np.ndarray]) -> paddle.Tensor:
    """Write each array into one of zeros, and make a tensor of it."""
    out = np.zeros([len(samples), max(map(len, samples)), samples[0].shape[1]], "float32")
    for at, each in enumerate(samples):
        out[at, : len(each)] = each
    return paddle.to_tensor(out)


def milliseconds(batch: Callable[[], object]) -> float:
    batch()
    start = time.perf_counter()
    batch()
    return (time.perf_counter() - start) * 1e3


if __name__ == "__main__":
    results = {}
    for name, shapes in BATCHES.items():
        arrays = [np.random.default_rng(0).standard_normal(shape).astype("float32") for shape in shapes]
        tensors = [paddle.to_tensor(each) for each in arrays]
        ways = {"tensor": partial(written, tensors), "array": partial(filled, arrays)}
        results[name] = in_turns({way: partial(milliseconds, batch) for way, batch in ways.items()}, rounds=9)
    write({"milliseconds_per_batch": results})
