"""An average of 160 weights, kept by a sum of two products for each of them, and by ``lerp_``.

python benchmarks/weight_average.py
"""

from __future__ import annotations

import time
from collections.abc import Callable

import paddle
from record import in_turns, write

WEIGHTS, SIZE, STEPS, DECAY = 160, 8, 50, 0.999
"""Small weights, so that it is the starting of operations that takes the time."""


def steps(update: Callable[[paddle.Tensor, paddle.Tensor], object]) -> Callable[[], float]:
    """Milliseconds for one step: all weights once."""
    new = [paddle.rand([SIZE]) for _ in range(WEIGHTS)]
    kept = [weight.clone() for weight in new]

    def run() -> float:
        start = time.perf_counter()
        with paddle.no_grad():
            for _ in range(STEPS):
                for one, other in zip(kept, new, strict=True):
                    update(one, other)
        return (time.perf_counter() - start) / STEPS * 1e3

    return run


if __name__ == "__main__":
    share = paddle.full([1], 1 - DECAY)
    spellings = {
        "paddle.assign(k * m + q * (1 - m), k)": steps(lambda k, q: paddle.assign(k * DECAY + q * (1 - DECAY), k)),
        "k.set_value(k * m + q * (1 - m))": steps(lambda k, q: k.set_value(k * DECAY + q * (1 - DECAY))),
        "k.lerp_(q, 1 - m)": steps(lambda k, q: k.lerp_(q, 1 - DECAY)),
        "k.lerp_(q, share), a tensor": steps(lambda k, q: k.lerp_(q, share)),
    }
    write({"milliseconds_per_step": in_turns(spellings, rounds=5)})
