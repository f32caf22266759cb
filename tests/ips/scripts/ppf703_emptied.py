"""PPF703: each step gives the cached memory of the device back."""

from __future__ import annotations

import networks
import paddle
import photos
import running
from paddle.nn.functional import cross_entropy


def train(steps: int, batch: int, side: int) -> float:
    loader = paddle.io.DataLoader(
        paddle.io.TensorDataset(photos.in_memory(steps * batch, side)), batch_size=batch, shuffle=True
    )
    network = networks.classifier()
    optimizer = paddle.optimizer.Momentum(0.01, parameters=network.parameters())
    for images, labels in loader:
        loss = cross_entropy(network(images), labels)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        paddle.device.cuda.empty_cache()
    return float(loss)


if __name__ == "__main__":
    running.start(train, steps=60, batch=32, side=64)
