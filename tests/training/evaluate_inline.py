"""A validation loop inside the epochs, with the same names as the training loop and a string over several rows."""

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


def train() -> None:
    net = make_net()
    optimizer = paddle.optimizer.Adam(learning_rate=0.01, parameters=net.parameters())
    train_loader = make_loader(batch_size=8)
    valid_loader = make_loader(batch_size=16)
    history = []
    for epoch in range(3):
        net.train()
        for x, y in train_loader:
            loss = nn.functional.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()

        net.eval()
        # how well it does
        for step, (x, y) in enumerate(valid_loader):
            logits = net(x)
            # mean of the batch
            loss = nn.functional.cross_entropy(logits, y)

            if step == 4:
                print(f"""epoch {epoch}:
  {loss.item():.6f}""")
                continue
            history.append(loss.item())
            # the end
        print(f"{loss.item():.6f}")
    save(net, {"history": history})


if __name__ == "__main__":
    paddle.seed(7)
    np.random.seed(7)
    train()
