"""PPF902: attention that writes its table of weights to memory."""

from __future__ import annotations

import paddle
from paddle import nn
from paddle.nn.functional import mse_loss, softmax


class Attention(nn.Layer):  # type: ignore[misc]  # mypy sees nothing of Paddle
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads, self.part = heads, width // heads
        self.scale = self.part**-0.5
        self.qkv = nn.Linear(width, width * 3)
        self.proj = nn.Linear(width, width)

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        b, n, c = x.shape
        qkv = self.qkv(x).reshape([b, n, 3, self.heads, self.part]).transpose([2, 0, 3, 1, 4])
        q, k, v = qkv[0], qkv[1], qkv[2]
        weights = (q @ k.transpose([0, 1, 3, 2])) * self.scale
        weights = softmax(weights, axis=-1)
        x = (weights @ v).transpose([0, 2, 1, 3]).reshape([b, n, c])
        return self.proj(x)


def train(steps: int) -> paddle.Tensor:
    network = Attention(32, 4)
    optimizer = paddle.optimizer.AdamW(parameters=network.parameters())
    for _ in range(steps):
        x = paddle.rand([2, 48, 32])
        loss = mse_loss(network(x), x)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
    return loss


if __name__ == "__main__":
    train(10)
