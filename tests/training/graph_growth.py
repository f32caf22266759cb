"""Losses that are summed up and stored with their graphs: names, weighted, in a dict, in a meter, as returned."""

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


class Meter:
    def __init__(self) -> None:
        self.sum = paddle.zeros([])
        self.count = 0

    def update(self, value: paddle.Tensor, n: int = 1) -> None:
        self.sum += value * n
        self.count += n


class Trainer:
    def __init__(self, net: nn.Layer) -> None:
        self.net = net
        self.optimizer = paddle.optimizer.Adam(learning_rate=0.01, parameters=net.parameters())
        self.criterion = nn.CrossEntropyLoss()
        self.seen = paddle.zeros([])

    def train_step(self, x: paddle.Tensor, y: paddle.Tensor) -> paddle.Tensor:
        loss = self.criterion(self.net(x), y)
        loss.backward()
        self.optimizer.step()
        self.optimizer.clear_grad()
        self.seen += loss
        return loss

    def train_epoch(self, loader: paddle.io.DataLoader) -> dict[str, float]:
        meter = Meter()
        losses = []
        weighted = 0.0
        log = {"loss": 0.0}
        total = 0.0
        for x, y in loader:
            loss = self.criterion(self.net(x), y)
            loss.backward()
            self.optimizer.step()
            self.optimizer.clear_grad()
            total += loss  # the mean of these is printed
            losses.append(loss)
            weighted = weighted + loss * x.shape[0]
            log["loss"] += loss.mean()
            meter.update(loss, x.shape[0])
        print(f"mean {float(total) / len(loader):.6f} of {len(losses)}")
        return {
            "total": float(total),
            "list": float(sum(losses)),
            "last": float(losses[-1]),
            "weighted": float(weighted),
            "log": float(log["loss"]),
            "meter": float(meter.sum) / meter.count,
        }

    def train_steps(self, loader: paddle.io.DataLoader) -> float:
        history = []
        for x, y in loader:
            loss = self.train_step(x, y)
            history.append(loss)
        return float(paddle.stack(history).mean())


def train() -> None:
    net = nn.Sequential(nn.Linear(16, 32), nn.Dropout(0.1), nn.ReLU(), nn.Linear(32, 4))
    trainer = Trainer(net)
    loader = make_loader(batch_size=4)
    report: dict[str, object] = {"epochs": [trainer.train_epoch(loader) for _ in range(2)]}
    report["mean of steps"] = trainer.train_steps(loader)
    report["seen"] = float(trainer.seen)
    save(net, report)


if __name__ == "__main__":
    paddle.seed(7)
    np.random.seed(7)
    train()
