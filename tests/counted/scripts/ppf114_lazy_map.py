"""PPF114: the texts of a training are tokenized again in each epoch."""

from __future__ import annotations

from typing import Any

import numpy as np
import paddle
import samples
from paddle.nn.functional import cross_entropy
from paddlenlp.datasets import MapDataset

TEXTS = ["a few words", "some more words", "words", "again words"] * 2


def tokenize(text: str) -> list[int]:
    return [len(word) % samples.WIDTH for word in text.split()]


def convert(text: str) -> tuple[Any, int]:
    features = np.zeros([samples.WIDTH], "float32")
    features[tokenize(text)] = 1
    return features, len(text) % samples.CLASSES


def train(epochs: int) -> paddle.Tensor:
    data = MapDataset(TEXTS)
    data = data.map(convert)
    loader = paddle.io.DataLoader(data, batch_size=samples.BATCH, shuffle=True)
    network = samples.network()
    optimizer = paddle.optimizer.SGD(0.01, parameters=network.parameters())
    for _ in range(epochs):
        for x, y in loader:
            loss = cross_entropy(network(x), y)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
    return loss


if __name__ == "__main__":
    train(10)
