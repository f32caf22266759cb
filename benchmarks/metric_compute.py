"""What the parts of an accuracy cost on the CPU: one sorts every class, one finds the best alone.

python benchmarks/metric_compute.py
"""

from __future__ import annotations

import time
from collections.abc import Callable

import paddle
from record import in_turns, write

SAMPLES, CLASSES = 256, 50_000


def milliseconds(action: Callable[[], object]) -> Callable[[], float]:
    """Times one call of ``action``."""

    def run() -> float:
        start = time.perf_counter()
        action()
        return (time.perf_counter() - start) * 1e3

    return run


if __name__ == "__main__":
    paddle.seed(0)
    scores, labels = paddle.rand([SAMPLES, CLASSES]), paddle.randint(0, CLASSES, [SAMPLES, 1])
    metric = paddle.metric.Accuracy()
    correct = metric.compute(scores, labels)
    parts = {
        "Accuracy.compute": milliseconds(lambda: metric.compute(scores, labels)),
        "paddle.metric.accuracy": milliseconds(lambda: paddle.metric.accuracy(scores, labels)),
        "Accuracy.update": milliseconds(lambda: metric.update(correct)),
    }
    write({"samples": SAMPLES, "classes": CLASSES, "milliseconds": in_turns(parts, rounds=5)})
