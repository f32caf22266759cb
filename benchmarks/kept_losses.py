"""What losses cost that stay tensors until the loop is over: memory for each, and the conversion at the end.

python benchmarks/kept_losses.py

Linux only: memory is read from /proc.
"""

from __future__ import annotations

import time
from pathlib import Path

import paddle
from paddle import nn
from record import in_turns, write

STEPS = 20_000
KIB_PER_PAGE = 4


def resident() -> int:
    """KiB of memory that this process uses now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * KIB_PER_PAGE


def kept() -> tuple[list[paddle.Tensor], float]:
    """The detached losses of ``STEPS`` steps, and the KiB that each of them holds."""
    net, x = nn.Linear(4, 1), paddle.ones([2, 4])

    def loss() -> paddle.Tensor:
        value = net(x).mean()
        value.backward()
        return value.detach()

    for _ in range(500):  # what is set up once, before it is counted
        loss()
    before = resident()
    losses = [loss() for _ in range(STEPS)]
    return losses, (resident() - before) / STEPS


def seconds(losses: list[paddle.Tensor], read: str) -> float:
    """How long it takes to make numbers of all losses."""
    start = time.perf_counter()
    if read == "float(x)":
        [float(x) for x in losses]
    else:
        [x.item() for x in losses]
    return time.perf_counter() - start


if __name__ == "__main__":
    values, kib = kept()
    spellings = {read: lambda read=read: seconds(values, read) for read in ("float(x)", "x.item()")}
    write({"steps": STEPS, "kib_for_each_loss": kib, "seconds_at_the_end": in_turns(spellings, rounds=5)})
