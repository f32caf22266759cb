"""What overlaps in a loader without workers, on the CPU: its thread, the Python code of a step, and waits.

python benchmarks/loader_thread.py

A sample costs Python time, or waits as for a disk. A step runs Python code as well, or sleeps, as it does where it
waits for the device: both waits release the interpreter lock. Work is counted by the time of its thread, so that a busy
machine does not shorten it.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import paddle
from record import in_turns, write

STEPS = 60
MS = 20.0


def works(milliseconds: float) -> None:
    """Run Python code for so long."""
    start = time.thread_time()
    while time.thread_time() - start < milliseconds / 1000:
        pass


def waits(milliseconds: float) -> None:
    """Wait for so long, without the interpreter lock."""
    time.sleep(milliseconds / 1000)


class Samples:
    """Samples that take some time each, and count how many were begun."""

    def __init__(self, load: Callable[[float], None]) -> None:
        self.load = load
        self.begun = 0

    def __getitem__(self, index: int) -> npt.NDArray[np.float32]:
        self.begun += 1
        self.load(MS)
        return np.zeros(4, dtype="float32")

    def __len__(self) -> int:
        return STEPS


def epoch(load: Callable[[float], None], step: Callable[[float], None]) -> tuple[float, int]:
    """The milliseconds of a step, and how many batches the loader had begun at most that no step had taken."""
    samples = Samples(load)
    ahead = 0
    start = time.perf_counter()
    for taken, _ in enumerate(paddle.io.DataLoader(samples, batch_size=1), 1):
        step(MS)
        ahead = max(ahead, samples.begun - taken)
    return (time.perf_counter() - start) * 1000 / STEPS, ahead


def step_ms(load: Callable[[float], None], step: Callable[[float], None]) -> Callable[[], float]:
    """What ``in_turns`` runs."""
    return lambda: epoch(load, step)[0]


if __name__ == "__main__":
    kinds = {"works": works, "waits": waits}
    pairs = {f"a sample {one}, a step {other}": step_ms(kinds[one], kinds[other]) for one in kinds for other in kinds}
    measured = in_turns(pairs, rounds=5)
    write({"milliseconds_each": MS, "step_ms": measured, "most_begun_ahead": epoch(lambda _: None, waits)[1]})
