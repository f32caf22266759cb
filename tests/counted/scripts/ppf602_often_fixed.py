"""PPF602: the network is evaluated after every tenth step."""

from __future__ import annotations

import paddle
import samples
from paddle.nn.functional import cross_entropy


@paddle.no_grad()  # type: ignore[untyped-decorator]  # mypy sees nothing of Paddle
def evaluate(network: paddle.nn.Layer, loader: paddle.io.DataLoader) -> None:
    network.eval()
    for x, y in loader:
        cross_entropy(network(x), y)
    network.train()


def train(steps: int) -> None:
    loader = paddle.io.DataLoader(samples.Points(8), batch_size=4)
    network = samples.network()
    optimizer = paddle.optimizer.SGD(0.01, parameters=network.parameters())
    for step, (x, y) in enumerate(samples.batches(steps)):
        loss = cross_entropy(network(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        if step % 10 == 0:
            evaluate(network, loader)


if __name__ == "__main__":
    train(10)
