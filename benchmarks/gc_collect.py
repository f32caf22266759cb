"""What ``gc.collect()`` costs in a process that trains: by itself, and in each step of a small network.

python benchmarks/gc_collect.py
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

import paddle
from paddle import nn
from record import in_turns, microseconds, write

STEPS = 40


def loop(after: Callable[[], object]) -> Callable[[], float]:
    """Milliseconds a step of a training loop of 20 small layers that ends each step with ``after``."""
    layers = [layer for _ in range(20) for layer in (nn.Linear(64, 64), nn.ReLU())]
    net = nn.Sequential(*layers, nn.Linear(64, 4))
    optimizer = paddle.optimizer.SGD(0.01, parameters=net.parameters())
    x = paddle.rand([16, 64])
    y = paddle.randint(0, 4, [16, 1])

    def run() -> float:
        start = time.perf_counter()
        for _ in range(STEPS):
            loss = nn.functional.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            after()
        return (time.perf_counter() - start) / STEPS * 1000

    return run


def calls(generation: int) -> Callable[[], float]:
    """Milliseconds for one collection of a generation and those below it."""
    return lambda: microseconds(lambda: gc.collect(generation), 10) / 1000


if __name__ == "__main__":
    paddle.seed(0)
    found = in_turns(
        {
            "a step": loop(int),
            "a step and gc.collect()": loop(gc.collect),
            "gc.collect()": calls(2),
            "gc.collect(0)": calls(0),
        },
        rounds=7,
    )
    write(
        {
            "objects_tracked": float(len(gc.get_objects())),
            "milliseconds": found,
            "step_with_against_without": found["a step and gc.collect()"] / found["a step"],
        }
    )
