"""PPF801: each step searches the graph for parameters without a gradient, and all have one."""

from __future__ import annotations

import paddle
import samples
from paddle.nn.functional import cross_entropy


def train(steps: int) -> paddle.Tensor:
    paddle.distributed.init_parallel_env()
    model = paddle.DataParallel(samples.network(), find_unused_parameters=True)
    optimizer = paddle.optimizer.SGD(0.01, parameters=model.parameters())
    for x, y in samples.batches(steps):
        loss = cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
    return loss


if __name__ == "__main__":
    train(10)
