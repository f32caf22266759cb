"""PPF206: the mean scores, which the next step takes off, go to the host and back behind each backward pass."""

from __future__ import annotations

import host_and_card
import paddle
import photos
from paddle.nn.functional import cross_entropy


def train(steps: int, batch: int, side: int) -> float:
    loader = paddle.io.DataLoader(
        paddle.io.TensorDataset(photos.in_memory(steps * batch, side)), batch_size=batch, shuffle=True
    )
    network = host_and_card.network(side)
    optimizer = paddle.optimizer.Momentum(0.01, parameters=network.parameters())
    center = paddle.full([host_and_card.CLASSES], 0.0)
    for images, labels in loader:
        scores = network(images)
        loss = cross_entropy(scores - center, labels)
        loss.backward()
        center = paddle.to_tensor(scores.mean(0).numpy())
        optimizer.step()
        optimizer.clear_grad()
        host_and_card.between_steps()
    return float(loss)


if __name__ == "__main__":
    host_and_card.start(train, steps=60, batch=32, side=64)
