"""PPF915: all pixels of an image are put in a random order to draw four of them."""

from __future__ import annotations

import numpy as np
import paddle
import samples
from paddle.nn.functional import cross_entropy

HEIGHT, WIDTH = 200, 200


def train(steps: int) -> paddle.Tensor:
    model = samples.network()
    optimizer = paddle.optimizer.SGD(0.01, parameters=model.parameters())
    for x, y in samples.batches(steps):
        drawn = np.random.choice(HEIGHT * WIDTH, samples.BATCH, replace=False)
        loss = cross_entropy(model(x + float(drawn[0])), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
    return loss


if __name__ == "__main__":
    train(10)
