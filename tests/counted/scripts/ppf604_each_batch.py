"""PPF604: an evaluation reads its loss and updates its metric at each batch."""

from __future__ import annotations

import numpy as np
import paddle
import samples
from paddle.nn.functional import cross_entropy


@paddle.no_grad()  # type: ignore[untyped-decorator]  # mypy sees nothing of Paddle
def evaluate(network: paddle.nn.Layer, metric: paddle.metric.Accuracy, loader: paddle.io.DataLoader) -> float:
    network.eval()
    metric.reset()
    losses = []
    for x, y in loader:
        scores = network(x)
        loss = cross_entropy(scores, y)
        losses.append(loss.numpy())
        correct = metric.compute(scores, y)
        metric.update(correct)
    network.train()
    return float(np.mean(losses) + metric.accumulate())


def train(epochs: int) -> None:
    loader, metric = paddle.io.DataLoader(samples.Points(16), batch_size=samples.BATCH), paddle.metric.Accuracy()
    network = samples.network()
    optimizer = paddle.optimizer.SGD(0.01, parameters=network.parameters())
    for _ in range(epochs):
        for x, y in samples.batches(2):
            loss = cross_entropy(network(x), y)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
        print(evaluate(network, metric, loader))


if __name__ == "__main__":
    train(3)
