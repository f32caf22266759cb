"""What a host read costs the CPU, and what the fixed accumulator costs instead.  No GPU, so no waiting: the gain of
the fix, which is the wait for the device, cannot show here; its price can.

    python benchmarks/host_read.py
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import numpy as np
import paddle
from paddle import nn
from record import in_turns, microseconds, write

STEPS = 300
Accumulate = Callable[[float, paddle.Tensor], float]


def calls() -> dict[str, float]:
    """Microseconds for one read of a 0-D float32 tensor, in each spelling, and for what the fix does instead."""
    loss = paddle.to_tensor(1.25)
    total = paddle.zeros([], dtype="float64")
    spellings: dict[str, Callable[[], object]] = {
        "loss.item()": loss.item,
        "loss.numpy()": loss.numpy,
        "loss.tolist()": loss.tolist,
        "float(loss)": lambda: float(loss),
        "np.array(loss)": lambda: np.array(loss),
        'f"{loss:.4f}"': lambda: f"{loss:.4f}",
        "str(loss)": lambda: str(loss),
        "loss.detach()": loss.detach,
        'total + loss.detach().astype("float64")': lambda: total + loss.detach().astype("float64"),
    }
    return in_turns({name: partial(microseconds, read, 2000) for name, read in spellings.items()}, rounds=7)


def loop(accumulate: Accumulate) -> Callable[[], float]:
    """Steps a second of a training loop of 20 small layers that adds up its loss with ``accumulate``."""
    layers = [layer for _ in range(20) for layer in (nn.Linear(64, 64), nn.ReLU())]
    net = nn.Sequential(*layers, nn.Linear(64, 4))
    optimizer = paddle.optimizer.SGD(0.01, parameters=net.parameters())
    x = paddle.rand([16, 64])
    y = paddle.randint(0, 4, [16, 1])

    def run() -> float:
        total = 0.0
        start = time.perf_counter()
        for _ in range(STEPS):
            loss = nn.functional.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            total = accumulate(total, loss)
        float(total)
        return STEPS / (time.perf_counter() - start)

    return run


def loops() -> dict[str, float]:
    """Steps a second for the three ways to sum a loss."""
    candidates: dict[str, Accumulate] = {
        "no sum at all": lambda total, loss: total,
        "total += loss.item()": lambda total, loss: total + loss.item(),
        'total += loss.detach().astype("float64")': lambda total, loss: total + loss.detach().astype("float64"),
    }
    return in_turns({name: loop(accumulate) for name, accumulate in candidates.items()}, rounds=7)


if __name__ == "__main__":
    paddle.seed(0)
    write({"microseconds_per_call": calls(), "steps_per_second": loops()})
