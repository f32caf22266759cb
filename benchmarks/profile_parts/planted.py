"""A training whose costs are planted: it notes itself how long each part of a step takes, in the file it is given.

The parts of all steps up to the wanted one are added up; "other" is what is between them.  The loader's data are read
ahead by Paddle's own thread, so what is planted there is longer than what a step waits.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from pathlib import Path

import numpy as np
import paddle

STEPS, OUT = int(sys.argv[1]), Path(sys.argv[2])
LOADER_MS, FORWARD_MS, BACKWARD_MS, OPTIMIZER_MS, LOG_MS, OTHER_MS = 120, 12, 8, 5, 5, 6
SAVE_EVERY = 5


def busy(milliseconds: float) -> None:
    """Keep the processor busy."""
    end = time.perf_counter() + milliseconds / 1000
    while time.perf_counter() < end:
        pass


class Numbers(paddle.io.Dataset):  # type: ignore[misc]  # Paddle has no types that mypy can follow
    """Samples that a disk keeps waiting for."""

    def __len__(self) -> int:
        return 10_000

    def __getitem__(self, index: int) -> np.ndarray:
        time.sleep(LOADER_MS / 1000)
        return np.full(16, index, "float32")


class Delayed(paddle.autograd.PyLayer):  # type: ignore[misc]
    """What it is given; its gradient takes its time."""

    @staticmethod
    def forward(_: object, x: paddle.Tensor) -> paddle.Tensor:
        return x * 1

    @staticmethod
    def backward(_: object, gradient: paddle.Tensor) -> paddle.Tensor:
        busy(BACKWARD_MS)
        return gradient * 1


class Net(paddle.nn.Layer):  # type: ignore[misc]
    """A layer that takes its time."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = paddle.nn.Linear(16, 1)

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        busy(FORWARD_MS)
        return Delayed.apply(self.linear(x))


class Adam(paddle.optimizer.Adam):  # type: ignore[misc]
    """An optimizer that takes its time."""

    def step(self) -> None:
        super().step()
        busy(OPTIMIZER_MS)


class Slow(logging.Handler):
    """A handler whose server is far away."""

    def emit(self, record: logging.LogRecord) -> None:
        time.sleep(LOG_MS / 1000)


took: dict[str, float] = {}


def note(part: str, since: float) -> float:
    """Add the time since then to a part of a step; the time now."""
    now = time.perf_counter()
    took[part] = took.get(part, 0.0) + now - since
    return now


logger = logging.getLogger("planted")
logger.addHandler(Slow())
logger.setLevel(logging.INFO)
logger.propagate = False
net, table, large = Net(), paddle.rand([30, 30]), paddle.ones([1_000_000])
optimizer = Adam(parameters=net.parameters())
since = time.perf_counter()
for step, x in enumerate(paddle.io.DataLoader(Numbers()), 1):
    since = note("reader", since)
    loss = net(x).mean()
    since = note("forward", since)
    loss.backward()
    since = note("backward", since)
    str(table)
    since = note("read", since)
    logger.info("a line")
    since = note("log", since)
    if step % SAVE_EVERY == 0:
        paddle.save({"large": large}, str(OUT.with_suffix(".pdparams")))
    since = note("save", since)
    busy(OTHER_MS)
    since = note("other", since)
    optimizer.step()
    optimizer.clear_grad()
    since = note("optimizer", since)
    if step == STEPS:
        OUT.write_text(json.dumps(took), encoding="utf-8")
    elif step == 1:
        took.clear()
