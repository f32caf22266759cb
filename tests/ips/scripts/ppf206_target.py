"""PPF206: the target of a second loss goes to the host and back at each step."""

from __future__ import annotations

import networks
import paddle
import photos
import running
from paddle.nn.functional import cross_entropy, mse_loss


def train(steps: int, batch: int, side: int) -> float:
    loader = paddle.io.DataLoader(
        paddle.io.TensorDataset(photos.in_memory(steps * batch, side)), batch_size=batch, shuffle=True
    )
    network = networks.narrow()
    optimizer = paddle.optimizer.Momentum(0.01, parameters=network.parameters())
    for images, labels in loader:
        seen = network(images)
        target = paddle.to_tensor(seen.numpy())
        loss = cross_entropy(seen, labels) + mse_loss(network(images.flip(3)), target)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
    return float(loss)


if __name__ == "__main__":
    running.start(train, steps=60, batch=32, side=64)
