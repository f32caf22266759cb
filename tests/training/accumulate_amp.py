"""The sum in a mixed precision loop with a GradScaler and gradient accumulation."""

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
    scaler = paddle.amp.GradScaler(init_loss_scaling=1024.0)
    criterion = nn.CrossEntropyLoss()
    loader = make_loader(batch_size=4)
    total = 0.0
    for step, (x, y) in enumerate(loader):
        with paddle.amp.auto_cast(level="O1"):
            loss = criterion(net(x), y)
        scaler.scale(loss / 2).backward()
        if (step + 1) % 2 == 0:
            scaler.step(optimizer)
            scaler.update()
            optimizer.clear_grad()
        total += loss.item()
    mean = total / len(loader)
    save(net, {"mean": mean})


if __name__ == "__main__":
    paddle.seed(7)
    np.random.seed(7)
    train()
