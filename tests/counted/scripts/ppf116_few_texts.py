"""PPF116: each step trains on two short texts, since the option of the batch size says so."""

from __future__ import annotations

import argparse

import paddle
import samples
from paddle import nn
from paddle.nn.functional import cross_entropy

parser = argparse.ArgumentParser()
parser.add_argument("--max_length", type=int, default=16)
parser.add_argument("--batch_size", type=int, default=2)


class Scores(nn.Layer):  # type: ignore[misc]  # mypy sees nothing of Paddle
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(2, samples.WIDTH)
        self.head = samples.network()

    @classmethod
    def from_pretrained(cls, name: str) -> Scores:
        return cls()

    def forward(self, ids: paddle.Tensor) -> paddle.Tensor:
        return self.head(self.words(ids).mean(axis=1))


def tokenizer(texts: int, length: int) -> paddle.Tensor:
    return paddle.ones([texts, length], "int64")


def train(count: int) -> paddle.Tensor:
    args = parser.parse_args([])
    model = Scores.from_pretrained("base")
    optimizer = paddle.optimizer.SGD(0.01, parameters=model.parameters())
    for _ in range(count // args.batch_size):
        label = paddle.zeros([args.batch_size], "int64")
        loss = cross_entropy(model(tokenizer(args.batch_size, args.max_length)), label)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
    return loss


if __name__ == "__main__":
    train(10)
