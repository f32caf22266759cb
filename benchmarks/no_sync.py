"""What it saves to exchange gradients once for several passes: two processes with `paddle.DataParallel` on one CPU.

Run it with `python benchmarks/no_sync.py`.  It prints a line for each way: milliseconds a pass, the largest difference
of a weight from the first way, and whether both processes have the same gradients after the first pass.
"""

from __future__ import annotations

import contextlib
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import paddle
import paddle.distributed as dist

WAYS = ("no_sync nowhere", "forward and backward", "backward alone")
PASSES, UPDATE_AFTER = 16, 4


def main() -> None:
    """Start the processes: `python benchmarks/no_sync.py [WIDTH [FILE]]`, where FILE takes what is found as JSON."""
    width = int(sys.argv[1]) if len(sys.argv) > 1 else 1024
    path = sys.argv[2] if len(sys.argv) > 2 else ""
    dist.spawn(compared, args=(width, path), nprocs=2, backend="gloo")


def compared(width: int, path: str) -> None:
    """What each process does: train all ways, one after the other."""
    dist.init_parallel_env()
    found: dict[str, Any] = {}
    weights: dict[str, Any] = {}
    for way in WAYS:
        trained(way, width)  # the first passes take longer
        seconds, weights[way], gradient = trained(way, width)
        gradients: list[paddle.Tensor] = []
        dist.all_gather(gradients, gradient)
        found[way] = {
            "milliseconds": round(seconds * 1000, 1),
            "difference": float(np.abs(weights[way] - weights[WAYS[0]]).max()),
            "same in both": bool((gradients[0] == gradients[1]).all()),
        }
    if dist.get_rank() == 0:
        for way in WAYS:
            print(way, found[way])
        if path:
            Path(path).write_text(json.dumps(found), encoding="utf-8")


def trained(way: str, width: int) -> tuple[float, Any, paddle.Tensor]:
    """Seconds a pass, a weight after the training, and its gradient after the first pass."""
    paddle.seed(1)
    net = paddle.nn.Sequential(*[paddle.nn.Linear(width, width) for _ in range(4)])
    model = paddle.DataParallel(net)
    optimizer = paddle.optimizer.SGD(0.01, parameters=model.parameters())
    samples = np.random.RandomState(dist.get_rank())
    first = None
    start = time.perf_counter()
    for step in range(PASSES):
        x = paddle.to_tensor(samples.rand(8, width).astype("float32"))
        is_last = (step + 1) % UPDATE_AFTER == 0
        alone = contextlib.nullcontext if is_last or way == WAYS[0] else model.no_sync
        with alone() if way == WAYS[1] else contextlib.nullcontext():
            loss = model(x).square().mean() / UPDATE_AFTER
            with alone() if way == WAYS[2] else contextlib.nullcontext():
                loss.backward()
        if first is None:
            first = net[0].weight.grad.clone()
        if is_last:
            optimizer.step()
            optimizer.clear_grad()
    return (time.perf_counter() - start) / PASSES, net[0].weight.numpy(), first


if __name__ == "__main__":
    main()
