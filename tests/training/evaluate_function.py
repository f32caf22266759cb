"""Evaluations in functions and methods of their own, between epochs that train with dropout and batch statistics."""

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


def make_net() -> nn.Layer:
    return nn.Sequential(nn.Linear(16, 32), nn.BatchNorm1D(32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 4))


def evaluate(net: nn.Layer, loader: paddle.io.DataLoader) -> float:
    net.eval()
    losses: list[float] = []
    for x, y in loader:
        losses.append(nn.functional.cross_entropy(net(x), y).item())
    net.train()
    return sum(losses) / len(losses)


class Trainer:
    def __init__(self, net: nn.Layer) -> None:
        self.net = net

    @staticmethod
    def test_accuracy(net: nn.Layer, loader: paddle.io.DataLoader) -> float:
        net.eval()
        right = 0
        for x, y in loader:
            right += int((net(x).argmax(axis=1, keepdim=True) == y).sum())
        net.train()
        return right / 96

    def predict(self, loader: paddle.io.DataLoader) -> list[list[float]]:
        scores = []
        for x, _ in loader:  # dropout stays on, and takes random numbers
            scores.append(self.net(x).mean(axis=0).tolist())
        return scores


def train() -> None:
    net = make_net()
    optimizer = paddle.optimizer.Adam(learning_rate=0.01, parameters=net.parameters())
    loader = make_loader(batch_size=8)
    trainer = Trainer(net)
    history = []
    for epoch in range(3):
        for x, y in loader:
            loss = nn.functional.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
        history.append([evaluate(net, loader), trainer.test_accuracy(net, loader), trainer.predict(loader)])
        print(f"epoch {epoch}: {history[-1][0]:.6f} {history[-1][1]:.4f}")
    save(net, {"history": history})


if __name__ == "__main__":
    paddle.seed(7)
    np.random.seed(7)
    train()
