"""PPF115: texts of two and of sixteen tokens stand together in the batches, which are padded to sixteen."""

from __future__ import annotations

from typing import Any

import numpy as np
import paddle
import samples
from paddle import nn
from paddle.nn.functional import cross_entropy

COUNT = 16
Sample = tuple[list[int], int]


class Texts(paddle.io.Dataset):  # type: ignore[misc]  # mypy sees nothing of Paddle
    def __len__(self) -> int:
        return COUNT

    def __getitem__(self, index: int) -> Sample:
        return [1] * (16 if index % 2 else 2), index % samples.CLASSES


def collate(batch: list[Sample]) -> tuple[Any, Any]:
    longest = max(len(text) for text, _ in batch)
    padded = [text + [0] * (longest - len(text)) for text, _ in batch]
    return np.array(padded), np.array([label for _, label in batch])


def sampler(texts: Texts) -> paddle.io.BatchSampler:
    return paddle.io.BatchSampler(texts, shuffle=True, batch_size=samples.BATCH)


def train(epochs: int) -> paddle.Tensor:
    np.random.seed(0)
    texts = Texts()
    words = nn.Embedding(2, samples.WIDTH)
    network = samples.network()
    optimizer = paddle.optimizer.SGD(0.01, parameters=[*words.parameters(), *network.parameters()])
    train_loader = paddle.io.DataLoader(texts, batch_sampler=sampler(texts), collate_fn=collate)
    for _ in range(epochs):
        for ids, labels in train_loader:
            loss = cross_entropy(network(words(ids).mean(axis=1)), labels)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
    return loss


if __name__ == "__main__":
    train(10)
