"""PPF510: a schedule that computes the rate of a step."""

from __future__ import annotations

import paddle
import samples
from paddle.nn.functional import cross_entropy

TRAINING = 100_000


def train(steps: int) -> paddle.Tensor:
    network = samples.network()
    schedule = paddle.optimizer.lr.LambdaDecay(0.01, lambda step: 1 - step / TRAINING)
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
