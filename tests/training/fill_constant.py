"""Constants made with `paddle.to_tensor` in the step and in the forward pass: scalars, lists, dtypes, a first sum."""

import json
import sys
from pathlib import Path

import numpy as np
import paddle
from paddle import nn


class Net(nn.Layer):  # type: ignore[misc]  # Paddle has no types that mypy can follow
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(16, 32)
        self.second = nn.Linear(32, 4)

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        hidden = self.first(x) * paddle.to_tensor(0.7)
        hidden = paddle.where(hidden > paddle.to_tensor(0.1), hidden, paddle.to_tensor(-1e-3, dtype=hidden.dtype))
        picked = paddle.index_select(hidden, paddle.to_tensor([0]), axis=1)  # an int64 tensor
        return self.second(hidden + picked) / paddle.to_tensor([3.3, 3.3, 3.3, 3.3])


def make_loader(batch_size: int) -> paddle.io.DataLoader:
    generator = np.random.default_rng(7)
    features = generator.random((96, 16), dtype="float32")
    labels = generator.integers(0, 4, (96, 1))
    dataset = paddle.io.TensorDataset([features, labels])
    return paddle.io.DataLoader(dataset, batch_size=batch_size, shuffle=True, num_workers=0)


def save(net: nn.Layer, report: dict[str, object]) -> None:
    out = sys.argv[1]
    np.savez(out + ".npz", **{name: value.numpy() for name, value in net.state_dict().items()})
    Path(out + ".json").write_text(json.dumps(report))


def train() -> None:
    net = Net()
    optimizer = paddle.optimizer.Adam(learning_rate=0.01, parameters=net.parameters())
    losses = []
    for x, y in make_loader(batch_size=4):
        loss = paddle.to_tensor(0.0)
        loss.stop_gradient = False
        logits = net(x)
        loss = loss + nn.functional.cross_entropy(logits, y) * paddle.to_tensor(data=0.3, dtype="float32")
        loss = loss + paddle.pow(logits.abs().mean(), paddle.to_tensor(3)) * paddle.to_tensor(1, dtype="float32")
        total = paddle.to_tensor([[0.0], [0.0]], stop_gradient=True)
        total += loss.detach()  # what was filled may be changed in place
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        losses.append(loss.detach() + total.sum())
    save(net, {"losses": [float(loss) for loss in losses]})


if __name__ == "__main__":
    paddle.seed(7)
    np.random.seed(7)
    train()
