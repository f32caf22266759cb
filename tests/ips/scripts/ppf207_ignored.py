"""PPF207: a segmentation network is trained on the squares of a mask, whose count the host has to learn."""

from __future__ import annotations

import networks
import paddle
import photos
import running
from paddle import nn
from paddle.nn.functional import avg_pool2d, cross_entropy


class MaskedLoss(nn.Layer):  # type: ignore[misc]  # mypy sees nothing of Paddle
    def forward(self, scores: paddle.Tensor, labels: paddle.Tensor, mask: paddle.Tensor) -> paddle.Tensor:
        losses = cross_entropy(scores, labels, axis=1, reduction="none").squeeze(1)
        return paddle.masked_select(losses, mask).mean()


def train(steps: int, batch: int, side: int) -> float:
    loader = paddle.io.DataLoader(
        paddle.io.TensorDataset(photos.in_memory(steps * batch, side)), batch_size=batch, shuffle=True
    )
    network = networks.segmenter()
    criterion = MaskedLoss()
    optimizer = paddle.optimizer.Momentum(0.01, parameters=network.parameters())
    for images, labels in loader:
        bright = avg_pool2d(images, 4).mean(axis=1) > 0
        squares = labels.reshape([-1, 1, 1, 1]).expand([-1, 1, side // 4, side // 4])
        loss = criterion(network(images), squares, bright)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
    return float(loss)


if __name__ == "__main__":
    running.start(train, steps=60, batch=32, side=64)
