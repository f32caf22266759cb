"""Tensors that go to the host and straight back, and are then changed in place: the fix must not share their memory."""

import json
import sys
from pathlib import Path

import numpy as np
import paddle
from paddle import nn


def make_loader(batch_size: int) -> paddle.io.DataLoader:
    generator = np.random.default_rng(7)
    features = generator.random((96, 16))
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
    losses = []
    for raw, y in make_loader(batch_size=4):
        x = paddle.to_tensor(raw.numpy().astype("float32"))  # the dataset gives float64
        same = paddle.to_tensor(x.numpy(), dtype="float32")
        same[0] = 0.5  # x stays as it was
        flat = paddle.to_tensor(y.numpy().reshape(-1))
        logits = net(x)
        soft = nn.functional.softmax(logits)
        target = paddle.to_tensor(soft.numpy())
        target[:, 0] = 0.25  # soft stays as it was
        loss = (
            nn.functional.cross_entropy(net(same), flat)
            + nn.functional.mse_loss(soft, target)
            + nn.functional.cross_entropy(logits, flat)
        )
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        losses.append(loss.detach())
    stops = [bool(same.stop_gradient), bool(target.stop_gradient)]
    save(net, {"losses": [float(loss) for loss in losses], "stops": stops, "dtypes": [str(x.dtype), str(flat.dtype)]})


if __name__ == "__main__":
    paddle.seed(7)
    np.random.seed(7)
    train()
