"""What it costs to draw 1024 different indices with NumPy's old functions, and with its `Generator`.

python benchmarks/draws.py
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from record import in_turns, microseconds, write

DRAWN = 1024

if __name__ == "__main__":
    generator = np.random.default_rng(0)
    results = {}
    for count in (10_000, 160_000, 640_000):
        ways: dict[str, Callable[[], object]] = {
            "choice": partial(np.random.choice, count, DRAWN, replace=False),
            "permutation": partial(np.random.permutation, count),
            "Generator.choice": partial(generator.choice, count, DRAWN, replace=False),
        }
        results[f"of {count}"] = in_turns(
            {name: partial(microseconds, way, 20) for name, way in ways.items()}, rounds=9
        )
    write({"microseconds": results})
