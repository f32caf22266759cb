"""One batch of samples that are Paddle tensors, and of samples that are arrays, on the CPU: with workers and without.

python benchmarks/sample_tensors.py

Workers may crash on tensors, so each loader with workers has a process of its own.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import paddle
from record import in_turns, write

SIZES: dict[str, tuple[tuple[int, ...], int]] = {
    "256 samples of 16 numbers": ((16,), 256),
    "16 samples of an image": ((3, 224, 224), 16),
}
KINDS = ("arrays", "tensors", "tensors of the collating function", "tensors of `to_tensor` of the transforms")
WORKERS, ROUNDS = 2, 7


class Samples:
    """Samples of an array and a label; the bytes of a picture if `to_tensor` of the transforms has to convert it."""

    def __init__(self, shape: tuple[int, ...], count: int, kind: str) -> None:
        self.data = np.zeros(shape, dtype="float32")
        self.picture = np.zeros((*shape[1:], shape[0]), dtype="uint8")
        self.count = count
        self.kind = kind

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        if self.kind == "tensors":
            return paddle.to_tensor(self.data), paddle.to_tensor(index % 10)
        if "transforms" in self.kind:
            return paddle.vision.transforms.to_tensor(self.picture), index % 10
        if self.kind == "scaled arrays":
            return self.picture.transpose(2, 0, 1).astype("float32") / 255, index % 10
        return np.asarray(self.data), np.asarray(index % 10)

    def __len__(self) -> int:
        return self.count


def collated(samples: list[tuple[Any, Any]]) -> list[Any]:
    """Make a tensor of each sample, and a batch of these."""
    return [paddle.stack([paddle.to_tensor(part) for part in parts]) for parts in zip(*samples, strict=True)]


def loading(size: str, kind: str, workers: int = 0) -> Callable[[], float]:
    """Milliseconds for a batch, the first ones not counted."""
    shape, batch = SIZES[size]
    collate = collated if "collating" in kind else None

    def run() -> float:
        samples = Samples(shape, batch * (11 + 20 * workers), kind)
        loader = paddle.io.DataLoader(samples, batch_size=batch, num_workers=workers, collate_fn=collate)
        batches = iter(loader)
        for _ in range(1 + workers):
            next(batches)
        start = time.perf_counter()
        count = sum(1 for _ in batches)
        return (time.perf_counter() - start) / count * 1e3

    return run


def with_workers(size: str, kinds: tuple[str, ...]) -> dict[str, Any]:
    """The median of each kind, and how many of the loaders crashed."""
    measured: dict[str, list[float]] = {kind: [] for kind in kinds}
    for _ in range(ROUNDS):
        for kind in kinds:
            done = subprocess.run([sys.executable, __file__, size, kind], capture_output=True, text=True, check=False)
            if done.returncode == 0:
                measured[kind].append(json.loads(done.stdout.splitlines()[-1]))
    return {
        kind: {"milliseconds_per_batch": statistics.median(times) if times else None, "crashed": ROUNDS - len(times)}
        for kind, times in measured.items()
    }


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(loading(sys.argv[1], sys.argv[2], WORKERS)()))
    else:
        without = {
            size: in_turns({kind: loading(size, kind) for kind in ("tensors", "arrays")}, rounds=5) for size in SIZES
        }
        small, picture = SIZES
        results = {small: with_workers(small, KINDS[:3]), picture: with_workers(picture, (*KINDS, "scaled arrays"))}
        write({"milliseconds_per_batch": without, f"with_{WORKERS}_workers": {"rounds": ROUNDS, **results}})
