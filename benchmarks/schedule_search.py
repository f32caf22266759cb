"""What a learning rate schedule with a boundary for each step costs a step: ``PiecewiseDecay`` searches them in turn.

python benchmarks/schedule_search.py
"""

from __future__ import annotations

import time
from collections.abc import Callable

from paddle.optimizer import lr
from record import in_turns, write

STEPS = 20
LENGTHS = (10_000, 100_000, 500_000)
"""Steps of a training: 500,000 are 270 epochs of COCO with a batch of 64."""


def made(kind: str, steps: int) -> lr.LRScheduler:
    """A schedule in the middle of a training."""
    if kind == "a boundary for each step":
        schedule: lr.LRScheduler = lr.PiecewiseDecay([*range(1, steps)], [1 - at / steps for at in range(steps)])
    else:
        schedule = lr.LinearWarmup(lr.CosineAnnealingDecay(0.1, T_max=steps), 1000, 0.0, 0.1)
    schedule.last_epoch = steps // 2
    return schedule


def run(kind: str, steps: int) -> Callable[[], float]:
    """Milliseconds of the processor for ``scheduler.step()``."""
    schedule = made(kind, steps)

    def measure() -> float:
        start = time.thread_time()  # other programs, which may keep the cores busy, do not count
        for _ in range(STEPS):
            schedule.step()
        return (time.thread_time() - start) / STEPS * 1e3

    return measure


def measured(steps: int) -> dict[str, object]:
    kinds = ("a boundary for each step", "a cosine that is computed")
    return {"steps": steps, "milliseconds": in_turns({kind: run(kind, steps) for kind in kinds}, rounds=15)}


if __name__ == "__main__":
    write({"trainings": [measured(steps) for steps in LENGTHS]})
