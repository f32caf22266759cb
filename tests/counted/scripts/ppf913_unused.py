"""PPF913: a spectrum of each batch that nothing reads."""

from __future__ import annotations

import paddle
import samples
from paddle import nn


def train(steps: int) -> paddle.Tensor:
    network = nn.Linear(samples.WIDTH, samples.WIDTH)
    optimizer = paddle.optimizer.SGD(0.01, parameters=network.parameters())
    for x, _ in samples.batches(steps):
        out = network(x)
        spectrum = paddle.fft.fft2(out)
        phase = paddle.angle(spectrum)  # noqa: F841
        loss = out.mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
    return loss


if __name__ == "__main__":
    train(10)
