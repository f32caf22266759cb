"""PPF306: under AMP, a hidden layer has a width that is no multiple of 8."""

from __future__ import annotations

import paddle
import photos
import running
from paddle import nn
from paddle.nn.functional import cross_entropy


class Network(nn.Layer):  # type: ignore[misc]  # mypy sees nothing of Paddle
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2D(3, 64, kernel_size=3, stride=2, padding=1)
        self.first = nn.Conv2D(64, 250, kernel_size=3, padding=1)
        self.second = nn.Conv2D(250, 256, kernel_size=3, padding=1)
        self.last = nn.Linear(256, 10)

    def forward(self, images: paddle.Tensor) -> paddle.Tensor:
        seen = self.second(nn.functional.relu(self.first(nn.functional.relu(self.stem(images)))))
        return self.last(seen.mean([2, 3]))


def train(steps: int, batch: int, side: int) -> float:
    loader = paddle.io.DataLoader(
        paddle.io.TensorDataset(photos.in_memory(steps * batch, side)), batch_size=batch, shuffle=True
    )
    network = Network()
    optimizer = paddle.optimizer.Momentum(0.01, parameters=network.parameters())
    scaler = paddle.amp.GradScaler()
    for images, labels in loader:
        with paddle.amp.auto_cast():
            loss = cross_entropy(network(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.clear_grad()
    return float(loss)


if __name__ == "__main__":
    running.start(train, steps=60, batch=32, side=64)
