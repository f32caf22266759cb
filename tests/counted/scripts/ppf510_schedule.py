"""PPF510: a schedule with a boundary for each step."""

from __future__ import annotations

import paddle
import samples
from paddle.nn.functional import cross_entropy

TRAINING = 100_000


def train(steps: int) -> paddle.Tensor:
    network = samples.network()
    boundaries = list(range(1, TRAINING))
    values = [0.01 * (1 - step / TRAINING) for step in range(TRAINING)]
    schedule = paddle.optimizer.lr.PiecewiseDecay(boundaries, values)
    optimizer = paddle.optimizer.SGD(schedule, parameters=network.parameters())
    for x, y in samples.batches(steps):
        loss = cross_entropy(network(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        schedule.step()
    return loss


if __name__ == "__main__":
    train(10)
