"""What it costs the CPU to make a tensor of host data, and what the alternatives cost.  No GPU: on one, each of these
copies also goes over the bus, and blocks.

    python benchmarks/to_tensor.py
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import paddle
from record import in_turns, microseconds, write

ROWS, COLUMNS = 64, 1024


def scalars() -> dict[str, float]:
    """Microseconds for one constant, by itself and in a product."""
    z = paddle.rand([16])
    two = paddle.to_tensor(2.0)
    spellings: dict[str, Callable[[], object]] = {
        "paddle.to_tensor(2.0)": lambda: paddle.to_tensor(2.0),
        "paddle.to_tensor([2.0])": lambda: paddle.to_tensor([2.0]),
        "paddle.full([], 2.0)": lambda: paddle.full([], 2.0),
        "z * paddle.to_tensor(2.0)": lambda: z * paddle.to_tensor(2.0),
        "z * paddle.full([], 2.0)": lambda: z * paddle.full([], 2.0),
        "z * two (made once)": lambda: z * two,
        "z * 2.0": lambda: z * 2.0,
    }
    return in_turns({name: partial(microseconds, action, 2000) for name, action in spellings.items()}, rounds=7)


def batches() -> dict[str, float]:
    """Microseconds for a batch of 64 x 1024 float32 values, by what it is made of."""
    array = np.random.default_rng(0).random((ROWS, COLUMNS), dtype="float32")
    rows = list(array)
    nested = array.tolist()
    tensor = paddle.to_tensor(array)
    spellings: dict[str, tuple[Callable[[], object], int]] = {
        "to_tensor(array)": (lambda: paddle.to_tensor(array), 500),
        "to_tensor(list of 64 arrays)": (lambda: paddle.to_tensor(rows), 200),
        "to_tensor(np.stack(list of 64 arrays))": (lambda: paddle.to_tensor(np.stack(rows)), 200),
        "to_tensor(nested list)": (lambda: paddle.to_tensor(nested), 20),
        "to_tensor(tensor)": (lambda: paddle.to_tensor(tensor), 500),
        "to_tensor(tensor.numpy())": (lambda: paddle.to_tensor(tensor.numpy()), 500),
        "tensor.detach().clone()": (lambda: tensor.detach().clone(), 500),
    }
    return in_turns({name: partial(microseconds, *action) for name, action in spellings.items()}, rounds=7)


if __name__ == "__main__":
    write({"microseconds_per_scalar": scalars(), "microseconds_per_batch": batches()})
