"""The samples of a pool are scored one by one in NumPy, and the hardest are trained on."""

import json
import sys
from pathlib import Path

import numpy as np
import paddle
from paddle import nn


def save(net: nn.Layer, report: dict[str, object]) -> None:
    out = sys.argv[1]
    np.savez(out + ".npz", **{name: value.numpy() for name, value in net.state_dict().items()})
    Path(out + ".json").write_text(json.dumps(report))


def hardest(net: nn.Layer, pool: paddle.Tensor, count: int) -> list[int]:
    probabilities = nn.functional.softmax(net(pool), axis=-1)
    spread = [float(np.sum(probabilities[i].numpy() ** 2)) for i in range(pool.shape[0])]
    tops = [max(probabilities[i].tolist()) for i in range(pool.shape[0])]
    assert all(top**2 <= total for top, total in zip(tops, spread, strict=True))
    return [int(i) for i in np.argsort(spread)[:count]]


def train() -> None:
    generator = np.random.default_rng(7)
    pool = paddle.to_tensor(generator.random((64, 16), dtype="float32"))
    labels = paddle.to_tensor(generator.integers(0, 4, (64, 1)))
    net = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))
    optimizer = paddle.optimizer.Adam(learning_rate=0.01, parameters=net.parameters())
    picked = []
    for _ in range(12):
        rows = hardest(net, pool, 8)
        picked.append(rows)
        loss = nn.functional.cross_entropy(net(pool[rows]), labels[rows])
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
    save(net, {"picked": picked})


if __name__ == "__main__":
    paddle.seed(7)
    np.random.seed(7)
    train()
