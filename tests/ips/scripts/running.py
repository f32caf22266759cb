"""How a script of the suite is started: its arguments, its seeds, and what it says at the end."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import paddle


def start(train: Callable[[int, int, int], object], steps: int, batch: int, side: int) -> None:
    """Call ``train(steps, batch, side)`` with these numbers, or those of the command line.

    Args:
        train: trains ``steps`` steps of ``batch`` photographs of ``side`` pixels, and returns the last loss.
        steps: training steps.
        batch: samples in a step.
        side: width and height of a photograph in pixels.
    """
    parser = argparse.ArgumentParser(description="Trains a small network, to measure one rule of perflint.")
    parser.add_argument("--steps", type=int, default=steps, help="training steps (%(default)s)")
    parser.add_argument("--batch", type=int, default=batch, help="samples in a step (%(default)s)")
    parser.add_argument("--side", type=int, default=side, help="pixels of a photograph's side (%(default)s)")
    given = parser.parse_args()
    paddle.seed(0)
    np.random.seed(0)
    started = time.perf_counter()
    loss = train(given.steps, given.batch, given.side)
    seconds = time.perf_counter() - started
    print(f"{given.steps} steps in {seconds:.1f} s, last loss {loss}")
