"""A running sum of `loss.item()` in a loop that an interrupt ends: the handler prints it, and the report has it."""

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
    criterion = nn.CrossEntropyLoss()
    loader = make_loader(batch_size=4)
    total = 0.0
    try:
        for step, (x, y) in enumerate(loader):
            if step == 17:
                raise KeyboardInterrupt
            loss = criterion(net(x), y)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            total += loss.item()
    except KeyboardInterrupt:
        print("stopped at", total)
    save(net, {"total": total, "mean": total / len(loader)})


if __name__ == "__main__":
    paddle.seed(7)
    np.random.seed(7)
    train()
