"""paddle.Model.fit that is handed a dataset and loads it in the training process."""

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


def train() -> None:
    generator = np.random.default_rng(7)
    dataset = paddle.io.TensorDataset([generator.random((96, 16), dtype="float32"), generator.integers(0, 4, (96, 1))])
    net = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))
    model = paddle.Model(net)
    optimizer = paddle.optimizer.Adam(learning_rate=0.01, parameters=net.parameters())
    model.prepare(optimizer, nn.CrossEntropyLoss(), paddle.metric.Accuracy())
    model.fit(dataset, batch_size=4, epochs=2, shuffle=False, verbose=0)
    result = model.evaluate(dataset, batch_size=4, verbose=0)
    save(net, {"accuracy": float(result["acc"])})


if __name__ == "__main__":
    paddle.seed(7)
    np.random.seed(7)
    train()
