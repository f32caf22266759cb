"""PPF108: a dataset reads a table for one of its rows."""

from __future__ import annotations

import tempfile
from typing import Any

import numpy as np
import paddle
import samples
from paddle.nn.functional import cross_entropy


class Rows(paddle.io.Dataset):  # type: ignore[misc]  # mypy sees nothing of Paddle
    def __init__(self, path: str, count: int) -> None:
        super().__init__()
        self.path = path
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> tuple[Any, int]:
        table = np.load(self.path)
        return table[index], index % samples.CLASSES


def train(count: int) -> paddle.Tensor:
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/table.npy"
        np.save(path, np.zeros([count, samples.WIDTH], "float32"))
        loader = paddle.io.DataLoader(Rows(path, count), batch_size=samples.BATCH, shuffle=True)
        network = samples.network()
        optimizer = paddle.optimizer.SGD(0.01, parameters=network.parameters())
        for x, y in loader:
            loss = cross_entropy(network(x), y)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
    return loss


if __name__ == "__main__":
    train(40)
