"""PPF706: convolutions on pictures of one size, whose kernels cuDNN guesses."""

from __future__ import annotations

import numpy as np
import paddle
import samples
from paddle import nn
from paddle.nn.functional import cross_entropy
from paddle.vision import transforms
from PIL import Image


class Pictures(paddle.io.Dataset):  # type: ignore[misc]  # mypy sees nothing of Paddle
    def __init__(self, count: int) -> None:
        super().__init__()
        self.count = count
        self.transform = transforms.Compose([transforms.RandomResizedCrop(16), transforms.ToTensor()])

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> tuple[paddle.Tensor, int]:
        return self.transform(Image.fromarray(np.zeros([20, 20, 3], "uint8"))), index % samples.CLASSES


def convolutions() -> nn.Layer:
    return nn.Sequential(
        nn.Conv2D(3, 64, 3, padding=1), nn.ReLU(), nn.Conv2D(64, 64, 3, padding=1), nn.ReLU(),
        nn.AdaptiveAvgPool2D(1), nn.Flatten(), nn.Linear(64, samples.CLASSES),
    )  # fmt: skip


def train(steps: int) -> paddle.Tensor:
    loader = paddle.io.DataLoader(Pictures(2 * steps), batch_size=2, shuffle=True)
    network = convolutions()
    optimizer = paddle.optimizer.Momentum(0.01, parameters=network.parameters())
    for x, y in loader:
        loss = cross_entropy(network(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
    return loss


if __name__ == "__main__":
    train(10)
