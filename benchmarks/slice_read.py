"""What it costs to read a slice of a tensor on the host, by the size of the tensor it is a slice of.

    python benchmarks/slice_read.py

On the CPU: what is copied here once more goes over the bus on a GPU.  The last part counts the memory that a list of
such arrays holds (Linux only).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import paddle
from record import in_turns, microseconds, write

SIDES = (16, 128, 512, 2048)
PAGES_PER_MIB = 2**20 / 4096


def one_read(side: int) -> dict[str, float]:
    """Microseconds for one read from a float32 tensor of ``side`` x ``side``."""
    x = paddle.rand([side, side])
    spellings: dict[str, Callable[[], object]] = {
        "x[0].numpy()": lambda: x[0].numpy(),
        "x[0].clone().numpy()": lambda: x[0].clone().numpy(),
        "np.array(x[0])": lambda: np.array(x[0]),
        "x[0].tolist()": lambda: x[0].tolist(),
        "float(x[0, 0])": lambda: float(x[0, 0]),
        "x[0, 0].item()": lambda: x[0, 0].item(),
        "x[0].contiguous().numpy()": lambda: x[0].contiguous().numpy(),
        "x[x[:, 0] > 2].numpy()": lambda: x[x[:, 0] > 2].numpy(),
    }
    calls = 20 if side > 1000 else 200
    return in_turns({name: partial(microseconds, read, calls) for name, read in spellings.items()}, rounds=5)


def images() -> paddle.Tensor:
    return paddle.rand([32, 3, 224, 224])


def loop(x: paddle.Tensor, read: Callable[[paddle.Tensor], object]) -> Callable[[], float]:
    """Milliseconds to read every image of a batch."""

    def run() -> float:
        start = time.perf_counter()
        read(x)
        return (time.perf_counter() - start) * 1e3

    return run


READS: dict[str, Callable[[paddle.Tensor], list[object]]] = {
    "list(x.numpy())": lambda x: list(x.numpy()),
    "[x[i].clone().numpy() for i in range(32)]": lambda x: [x[i].clone().numpy() for i in range(32)],
    "[x[i].numpy() for i in range(32)]": lambda x: [x[i].numpy() for i in range(32)],
}


def resident() -> float:
    """MiB of memory that this process uses now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) / PAGES_PER_MIB


def held(x: paddle.Tensor) -> dict[str, float]:
    """MiB that the arrays of a whole batch keep in use; all are kept, so that none gets memory another gave back."""
    found, kept = {}, []
    for name, read in READS.items():
        before = resident()
        kept.append(read(x))
        found[name] = resident() - before
    return found


if __name__ == "__main__":
    paddle.seed(0)
    batch = images()
    memory = held(batch)  # first, while no freed memory is there to be taken again
    write(
        {
            "microseconds_per_read": {f"{side * side * 4 // 1024} KiB": one_read(side) for side in SIDES},
            "milliseconds_per_batch": in_turns({name: loop(batch, read) for name, read in READS.items()}, rounds=5),
            "mib_of_the_batch": batch.numel().item() * 4 / 2**20,
            "mib_held": memory,
        }
    )
