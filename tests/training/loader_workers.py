"""A loader without workers over data that does not depend on chance."""

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


class Samples(paddle.io.Dataset):  # type: ignore[misc]  # Paddle has no types that mypy can follow
    """Samples that are worked out one by one, as those of an image folder are."""

    def __init__(self) -> None:
        super().__init__()
        generator = np.random.default_rng(7)
        self.inputs = generator.random((96, 16), dtype="float32")
        self.labels = generator.integers(0, 4, (96, 1))

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        return self.inputs[index], self.labels[index]


def train() -> None:
    net = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))
    optimizer = paddle.optimizer.Adam(learning_rate=0.01, parameters=net.parameters())
    criterion = nn.CrossEntropyLoss()
    dataset = Samples()
    loader = paddle.io.DataLoader(
        dataset,
        batch_size=4,
        shuffle=False,
    )
    for _ in range(2):
        for x, y in loader:
            loss = criterion(net(x), y)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
    save(net, {"loss": loss.item()})


if __name__ == "__main__":
    paddle.seed(7)
    np.random.seed(7)
    train()
