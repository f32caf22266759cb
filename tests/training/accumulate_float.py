"""A running sum of `float(loss)` that starts as an integer."""

import json
import sys
from pathlib import Path

import numpy as np
import paddle
from paddle import nn


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
    net = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))
    optimizer = paddle.optimizer.Adam(learning_rate=0.01, parameters=net.parameters())
    loader = make_loader(batch_size=6)
    loss_sum: float = 0
    for x, y in loader:
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        loss_sum += float(loss)  # the sum is for the log
    print("mean loss", format(loss_sum / len(loader), ".6f"))
    save(net, {"total": loss_sum})


if __name__ == "__main__":
    paddle.seed(7)
    np.random.seed(7)
    train()
