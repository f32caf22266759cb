"""PPF702: a profiler that records all steps, left over from looking for slow ones."""

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
    recorder = paddle.profiler.Profiler()
    recorder.start()
    for images, labels in loader:
        loss = cross_entropy(network(images), labels)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        recorder.step()
    recorder.stop()
    return float(loss)


if __name__ == "__main__":
    running.start(train, steps=60, batch=32, side=64)
