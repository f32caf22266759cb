"""PPF404: the network is exported after each epoch, which is one batch long here."""

from __future__ import annotations

import tempfile

import paddle
import samples
from paddle import nn
from paddle.nn.functional import cross_entropy


class Network(nn.Layer):  # type: ignore[misc]  # mypy sees nothing of Paddle
    def __init__(self) -> None:
        super().__init__()
        self.layers = samples.network()

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        return self.layers(x)


def train(epochs: int) -> paddle.Tensor:
    network = Network()
    optimizer = paddle.optimizer.SGD(0.01, parameters=network.parameters())
    spec = paddle.static.InputSpec([None, samples.WIDTH])
    with tempfile.TemporaryDirectory() as folder:
        for epoch in range(epochs):
            for x, y in samples.batches(1):
                loss = cross_entropy(network(x), y)
                loss.backward()
                optimizer.step()
                optimizer.clear_grad()
            paddle.save(network.state_dict(), f"{folder}/{epoch}.pdparams")
        paddle.jit.save(network, f"{folder}/last", input_spec=[spec])
    return loss


if __name__ == "__main__":
    train(2)
