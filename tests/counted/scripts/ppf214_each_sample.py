"""PPF214: an evaluation reads all predictions of a batch again for each of its samples."""

from __future__ import annotations

import paddle
import samples
from paddle.nn.functional import cross_entropy


@paddle.no_grad()  # type: ignore[untyped-decorator]  # mypy sees nothing of Paddle
def evaluate(network: paddle.nn.Layer, loader: paddle.io.DataLoader) -> list[int]:
    network.eval()
    found = []
    for x, _ in loader:
        classes = paddle.argmax(network(x), axis=-1)
        for i in range(samples.BATCH):
            found.append(int(classes.numpy()[i]))
    network.train()
    return found


def train(epochs: int) -> None:
    loader = paddle.io.DataLoader(samples.Points(8), batch_size=samples.BATCH)
    network = samples.network()
    optimizer = paddle.optimizer.SGD(0.01, parameters=network.parameters())
    for _ in range(epochs):
        for x, y in samples.batches(2):
            loss = cross_entropy(network(x), y)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
        evaluate(network, loader)


if __name__ == "__main__":
    train(10)
