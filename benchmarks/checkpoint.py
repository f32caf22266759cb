"""What a checkpoint costs the training loop: paddle.save, and a snapshot handed to paddle.async_save.

python benchmarks/checkpoint.py
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import paddle
from paddle import nn
from record import in_turns, write

STEPS = 20
MEGABYTES = 64


def make_net() -> nn.Layer:
    """A network with ``MEGABYTES`` MB of float32 weights in layers of 4 MB."""
    return nn.Sequential(*[nn.Linear(1024, 1024) for _ in range(MEGABYTES // 4)])


def milliseconds(action: Callable[[], object], after: Callable[[], object] = lambda: None) -> Callable[[], float]:
    """Times ``action``; ``after`` runs untimed."""

    def run() -> float:
        start = time.perf_counter()
        action()
        spent = (time.perf_counter() - start) * 1e3
        after()
        return spent

    return run


def saves(net: nn.Layer, folder: Path) -> dict[str, float]:
    """Milliseconds for which one checkpoint holds up the caller, and until it is written."""
    path = str(folder / "model.pdparams")

    def in_background() -> None:
        paddle.async_save({k: v.clone() for k, v in net.state_dict().items()}, path)

    def in_background_and_wait() -> None:
        in_background()
        paddle.clear_async_save_task_queue()

    return in_turns(
        {
            "paddle.save": milliseconds(lambda: paddle.save(net.state_dict(), path)),
            "snapshot and paddle.async_save": milliseconds(in_background, paddle.clear_async_save_task_queue),
            "the same, until the file is written": milliseconds(in_background_and_wait),
        },
        rounds=9,
    )


def steps(net: nn.Layer, folder: Path) -> dict[str, float]:
    """Seconds for ``STEPS`` training steps, by how often they save."""
    optimizer = paddle.optimizer.SGD(1e-4, parameters=net.parameters())
    x = paddle.rand([16, 1024])

    def train(interval: int) -> Callable[[], float]:
        def run() -> float:
            start = time.perf_counter()
            for step in range(1, STEPS + 1):
                net(x).mean().backward()
                optimizer.step()
                optimizer.clear_grad()
                if step % interval == 0:
                    paddle.save(net.state_dict(), str(folder / "step.pdparams"))
            return time.perf_counter() - start

        return run

    return in_turns(
        {"no save": train(STEPS * 2), "save at each step": train(1), "save at every tenth step": train(10)}, rounds=5
    )


if __name__ == "__main__":
    paddle.seed(0)
    network = make_net()
    with tempfile.TemporaryDirectory() as temporary:
        write(
            {
                "megabytes": MEGABYTES,
                "milliseconds": saves(network, Path(temporary)),
                f"seconds_for_{STEPS}_steps": steps(network, Path(temporary)),
            }
        )
