"""A hidden layer of 625 features under automatic mixed precision.

`argv[2]`, when it is given, is an .npz of initial weights by parameter name.
"""

import sys

import numpy as np
import paddle
from paddle import nn


class Net(nn.Layer):  # type: ignore[misc]  # Paddle has no types that mypy can follow
    def __init__(self) -> None:
        super().__init__()
        self.hidden = nn.Linear(16, 625)
        self.head = nn.Linear(625, 4)

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        hidden = nn.functional.relu(self.hidden(x))
        return self.head(hidden)


def train() -> None:
    net = Net()
    if len(sys.argv) > 2:
        net.set_state_dict({name: paddle.to_tensor(value) for name, value in np.load(sys.argv[2]).items()})
    arrays = {"initial." + name: value.numpy() for name, value in net.state_dict().items()}
    optimizer = paddle.optimizer.Momentum(0.05, 0.9, parameters=net.parameters(), weight_decay=1e-4)
    generator = np.random.default_rng(7)
    for step in range(10):
        x = paddle.to_tensor(generator.random((8, 16), dtype="float32"))
        y = paddle.to_tensor(generator.integers(0, 4, (8, 1)))
        with paddle.amp.auto_cast(level="O1"):
            loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        if step == 9:
            arrays.update({"gradient." + name: value.grad.numpy() for name, value in net.named_parameters()})
        optimizer.clear_grad()
    arrays.update({"final." + name: value.numpy() for name, value in net.state_dict().items()})
    arrays["output"] = net(paddle.ones([2, 16])).numpy()
    np.savez(sys.argv[1] + ".npz", **arrays)


if __name__ == "__main__":
    paddle.seed(7)
    train()
