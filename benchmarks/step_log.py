"""A line of log at each step against one at every tenth, on the CPU, with the output going to a file.

python benchmarks/step_log.py
"""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Callable
from functools import partial

import numpy as np
import paddle
from paddle import nn
from record import in_turns, write

STEPS = 300


def make_step(width: int, layers: int) -> Callable[[], paddle.Tensor]:
    """A training step of a small network; it returns the loss."""
    net = nn.Sequential(*[nn.Linear(width, width) for _ in range(layers)], nn.Linear(width, 4))
    optimizer = paddle.optimizer.SGD(0.01, parameters=net.parameters())
    x = paddle.rand([16, width])
    y = paddle.randint(0, 4, [16, 1])

    def step() -> paddle.Tensor:
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        return loss

    return step


def steps_per_second(step: Callable[[], paddle.Tensor], log: Callable[[int, paddle.Tensor], None]) -> float:
    """Train ``STEPS`` steps with ``log`` called after each of them."""
    with tempfile.TemporaryFile("w") as console, contextlib.redirect_stdout(console):
        start = time.perf_counter()
        for number in range(STEPS):
            log(number, step())
        return STEPS / (time.perf_counter() - start)


def loops() -> dict[str, float]:
    """Steps a second of a plain loop, by what it prints."""
    step = make_step(width=64, layers=8)

    def every(interval: int, text: Callable[[paddle.Tensor], object]) -> Callable[[int, paddle.Tensor], None]:
        def log(number: int, loss: paddle.Tensor) -> None:
            if number % interval == 0:
                print("step", number, "loss", text(loss), flush=True)

        return log

    candidates = {
        "nothing printed": every(STEPS * 2, str),
        "print(loss) at each step": every(1, str),
        "print(loss) at every tenth step": every(10, str),
        "print(loss.item()) at each step": every(1, lambda loss: loss.item()),
        "print(loss.item()) at every tenth step": every(10, lambda loss: loss.item()),
    }
    return in_turns({name: partial(steps_per_second, step, log) for name, log in candidates.items()}, rounds=7)


def high_level() -> dict[str, float]:
    """Batches a second of paddle.Model.fit, by log_freq."""
    generator = np.random.default_rng(0)
    arrays = [generator.random((STEPS * 4, 64), dtype="float32"), generator.integers(0, 4, (STEPS * 4, 1))]
    dataset = paddle.io.TensorDataset(arrays)
    net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4))
    model = paddle.Model(net)
    model.prepare(paddle.optimizer.SGD(0.01, parameters=net.parameters()), nn.CrossEntropyLoss())

    def fit(log_freq: int) -> float:
        with tempfile.TemporaryFile("w") as console, contextlib.redirect_stdout(console):
            start = time.perf_counter()
            model.fit(dataset, batch_size=4, epochs=1, shuffle=False, log_freq=log_freq)
            return STEPS / (time.perf_counter() - start)

    return in_turns({f"log_freq={number}": partial(fit, number) for number in (1, 10)}, rounds=7)


if __name__ == "__main__":
    paddle.seed(0)
    write({"loop_steps_per_second": loops(), "fit_batches_per_second": high_level()})
