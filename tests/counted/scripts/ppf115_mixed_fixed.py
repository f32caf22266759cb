"""PPF115: texts of two and of sixteen tokens stand in batches of their own."""

from __future__ import annotations

from collections.abc import Iterator
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


class Grouped(paddle.io.BatchSampler):  # type: ignore[misc]  # mypy sees nothing of Paddle
    def __init__(self, texts: Texts) -> None:
        super().__init__(texts, shuffle=True, batch_size=samples.BATCH)
        self.lengths = [len(texts[index][0]) for index in range(len(texts))]

    def __iter__(self) -> Iterator[list[int]]:
        order = sorted(np.random.permutation(len(self.lengths)), key=lambda index: self.lengths[index])
        batches = [order[start : start + samples.BATCH] for start in range(0, len(order), samples.BATCH)]
        np.random.shuffle(batches)
        yield from batches


def train(epochs: int) -> paddle.Tensor:
    np.random.seed(0)
    texts = Texts()
    words = nn.Embedding(2, samples.WIDTH)
    network = samples.network()
    optimizer = paddle.optimizer.SGD(0.01, parameters=[*words.parameters(), *network.parameters()])
    train_loader = paddle.io.DataLoader(texts, batch_sampler=Grouped(texts), collate_fn=collate)
    for _ in range(epochs):
        for ids, labels in train_loader:
            loss = cross_entropy(network(words(ids).mean(axis=1)), labels)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
    return loss


if __name__ == "__main__":
    train(10)
