"""PPF210: the loss reads on the host how many samples count."""

from __future__ import annotations

import host_and_card
import paddle
import photos
from paddle import nn
from paddle.nn.functional import cross_entropy


class PositiveLoss(nn.Layer):  # type: ignore[misc]  # mypy sees nothing of Paddle
    def forward(self, scores: paddle.Tensor, labels: paddle.Tensor) -> paddle.Tensor:
        positive = (labels > 0).astype("float32")
        count = max(positive.sum().item(), 1)
        return (cross_entropy(scores, labels, reduction="none").flatten() * positive.flatten()).sum() / count


def train(steps: int, batch: int, side: int) -> float:
    loader = paddle.io.DataLoader(
        paddle.io.TensorDataset(photos.in_memory(steps * batch, side)), batch_size=batch, shuffle=True
    )
    network = host_and_card.network(side)
    optimizer = paddle.optimizer.Momentum(0.01, parameters=network.parameters())
    criterion = PositiveLoss()
    for images, labels in loader:
        loss = criterion(network(images), labels)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        host_and_card.between_steps()
    return float(loss)


if __name__ == "__main__":
    host_and_card.start(train, steps=60, batch=32, side=64)
