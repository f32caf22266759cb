"""A metric brought up to date at each step against one at every tenth, on the CPU.

python benchmarks/metric_step.py
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import paddle
from paddle import nn
from record import in_turns, write

STEPS = 60
BATCH = 1024

Update = Callable[[paddle.Tensor, paddle.Tensor], object]


def make_step() -> Callable[[], tuple[paddle.Tensor, paddle.Tensor]]:
    """A training step of a small network for two classes; it returns the probabilities and the labels."""
    net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
    optimizer = paddle.optimizer.SGD(0.01, parameters=net.parameters())
    x = paddle.rand([BATCH, 64])
    y = paddle.randint(0, 2, [BATCH, 1])

    def step() -> tuple[paddle.Tensor, paddle.Tensor]:
        logits = net(x)
        nn.functional.cross_entropy(logits, y).backward()
        optimizer.step()
        optimizer.clear_grad()
        return nn.functional.softmax(logits), y

    return step


def updates() -> dict[str, Update]:
    """What each metric of Paddle is given at a step."""
    accuracy, precision, auc = paddle.metric.Accuracy(), paddle.metric.Precision(), paddle.metric.Auc()
    return {
        "Accuracy": lambda predicted, label: accuracy.update(accuracy.compute(predicted, label)),
        "Precision": lambda predicted, label: precision.update(predicted[:, 1], label),
        "Auc": lambda predicted, label: auc.update(predicted, label),
    }


def steps_per_second(
    step: Callable[[], tuple[paddle.Tensor, paddle.Tensor]], update: Update | None, interval: int
) -> float:
    """Train ``STEPS`` steps and update a metric at each ``interval``-th of them."""
    start = time.perf_counter()
    for number in range(STEPS):
        predicted, label = step()
        if update is not None and number % interval == 0:
            update(predicted, label)
    return STEPS / (time.perf_counter() - start)


def main() -> dict[str, float]:
    """Steps a second by metric and interval."""
    step = make_step()
    step()
    candidates = {"no metric": partial(steps_per_second, step, None, 1)}
    for name, update in updates().items():
        candidates[f"{name} at each step"] = partial(steps_per_second, step, update, 1)
        candidates[f"{name} at every tenth step"] = partial(steps_per_second, step, update, 10)
    return in_turns(candidates, rounds=15)


if __name__ == "__main__":
    paddle.seed(0)
    write({"steps_per_second": main(), "batch_size": BATCH})
