"""PPF103: the loader copies no batch ahead; the script waits until the loader has nothing left to do but be asked."""

from __future__ import annotations

import time

import paddle
import samples
from paddle.nn.functional import cross_entropy


def rest() -> None:
    """Wait for a moment that is long enough for what the loader does by itself."""
    time.sleep(1)


def train(steps: int) -> paddle.Tensor:
    loader = paddle.io.DataLoader(
        samples.Points(samples.BATCH * steps), batch_size=samples.BATCH, use_buffer_reader=False
    )
    network = samples.network()
    optimizer = paddle.optimizer.SGD(0.01, parameters=network.parameters())
    for x, y in loader:
        loss = cross_entropy(network(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        rest()
        break
    return loss


if __name__ == "__main__":
    train(10)
