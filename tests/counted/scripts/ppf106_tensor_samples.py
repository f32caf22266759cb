"""PPF106: a dataset makes tensors of each picture and of its label."""

from __future__ import annotations

import numpy as np
import paddle
import samples
from paddle.nn.functional import cross_entropy


class Pictures(paddle.io.Dataset):  # type: ignore[misc]  # mypy sees nothing of Paddle
    def __init__(self, count: int) -> None:
        super().__init__()
        self.pictures = np.zeros([count, samples.WIDTH])
        self.labels = np.arange(count) % samples.CLASSES

    def __len__(self) -> int:
        return len(self.pictures)

    def __getitem__(self, index: int) -> tuple[paddle.Tensor, paddle.Tensor]:
        picture = self.pictures[index].astype("float32")
        label = int(self.labels[index])
        return paddle.to_tensor(picture), paddle.to_tensor(label)


def train(count: int) -> paddle.Tensor:
    loader = paddle.io.DataLoader(Pictures(count), batch_size=samples.BATCH, shuffle=True)
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
