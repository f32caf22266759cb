"""PPF202: the loss is printed at each step, as a tensor."""

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
    network = networks.light(side)
    optimizer = paddle.optimizer.SGD(0.01, parameters=network.parameters())
    for step, (images, labels) in enumerate(loader):
        loss = cross_entropy(network(images), labels)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        print("step", step, "loss", loss, flush=True)
    return float(loss)


if __name__ == "__main__":
    running.start(train, steps=3000, batch=4, side=16)
