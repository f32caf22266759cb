"""PPF904: a softmax and its loss in two calls."""

from __future__ import annotations

import paddle
import samples
from paddle import nn
from paddle.nn import functional


def train(steps: int) -> paddle.Tensor:
    network = nn.Linear(samples.WIDTH, 512)
    optimizer = paddle.optimizer.SGD(0.01, parameters=network.parameters())
    for x, y in samples.batches(steps):
        logits = network(x.tile([64, 1]))
        loss = functional.nll_loss(functional.log_softmax(logits, axis=1), y.tile([64]))
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
    return loss


if __name__ == "__main__":
    train(10)
