"""What gradients cost an evaluation: peak memory of a forward pass, and its time, with and without ``no_grad``.

python benchmarks/evaluation.py
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import paddle
from paddle import nn
from record import in_turns, write

LAYERS, WIDTH, BATCH = 40, 512, 2048
MODES: dict[str, Callable[[], AbstractContextManager[object]]] = {
    "with gradients": nullcontext,
    "under no_grad": paddle.no_grad,
}


def make_net() -> nn.Layer:
    """A network whose activations (``LAYERS`` * 2 * ``BATCH`` * ``WIDTH`` floats) outweigh its parameters."""
    layers = [layer for _ in range(LAYERS) for layer in (nn.Linear(WIDTH, WIDTH), nn.ReLU())]
    net = nn.Sequential(*layers)
    net.eval()
    return net


def peak(mode: str) -> float:
    """MB by which the peak memory of this process grows over three evaluated batches."""
    net, batch = make_net(), paddle.rand([BATCH, WIDTH])
    with paddle.no_grad():
        net(batch[:8]).mean().item()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with MODES[mode]():
        for _ in range(3):
            net(batch).mean().item()
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


def peaks() -> dict[str, float]:
    """The same in a process of its own for each mode, since a peak never goes down."""
    found = {}
    for mode in MODES:
        command = [sys.executable, __file__, "--peak", mode]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found[mode] = float(json.loads(done.stdout.splitlines()[-1]))
    return found


def batches() -> dict[str, float]:
    """Evaluated batches a second of 16 samples, where the work of keeping a graph shows most."""
    net, batch = make_net(), paddle.rand([16, WIDTH])

    def run(mode: str) -> Callable[[], float]:
        def once() -> float:
            start = time.perf_counter()
            with MODES[mode]():
                for _ in range(60):
                    net(batch).mean().item()
            return 60 / (time.perf_counter() - start)

        return once

    return in_turns({mode: run(mode) for mode in MODES}, rounds=7)


if __name__ == "__main__":
    paddle.seed(0)
    if sys.argv[1:2] == ["--peak"]:
        print(json.dumps(peak(sys.argv[2])))
    else:
        write({"peak_megabytes_of_three_batches": peaks(), "batches_per_second": batches()})
