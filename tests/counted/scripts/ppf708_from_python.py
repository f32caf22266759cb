"""PPF708: a small transformer, operation by operation from Python."""

from __future__ import annotations

import paddle
import samples
from paddle import nn
from paddle.nn.functional import cross_entropy


class Encoder(nn.Layer):  # type: ignore[misc]  # mypy sees nothing of Paddle
    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0)
        self.body = nn.TransformerEncoder(layer, 1)
        self.head = nn.Linear(16, samples.CLASSES)

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        return self.head(self.body(x).mean(1))


def train(steps: int) -> paddle.Tensor:
    network = Encoder()
    optimizer = paddle.optimizer.AdamW(parameters=network.parameters())
    for _, y in samples.batches(steps):
        loss = cross_entropy(network(paddle.rand([samples.BATCH, 6, 16])), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
    return loss


if __name__ == "__main__":
    train(10)
