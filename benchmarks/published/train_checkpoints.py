"""Training that writes a checkpoint after each epoch, in the foreground (``IN_BACKGROUND = False``) or behind it."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import paddle
from paddle import nn

IN_BACKGROUND = False
EPOCHS = 5
STEPS = 10
BATCH = 16
WIDTH = 1024
LAYERS = 8
"""Layers of 4 MB of weights each."""


def main() -> None:
    """Train ``EPOCHS`` epochs of ``STEPS`` steps."""
    paddle.seed(0)
    random = np.random.default_rng(0)
    samples = paddle.io.TensorDataset([random.random((STEPS * BATCH, WIDTH), dtype="float32")])
    layers = [layer for _ in range(LAYERS) for layer in (nn.Linear(WIDTH, WIDTH), nn.ReLU())]
    model = nn.Sequential(*layers)
    optimizer = paddle.optimizer.SGD(learning_rate=1e-3, parameters=model.parameters())
    loader = paddle.io.DataLoader(samples, batch_size=BATCH)
    with tempfile.TemporaryDirectory() as folder:
        for epoch in range(EPOCHS):
            for (batch,) in loader:
                loss = (model(batch) - batch).square().mean()
                loss.backward()
                optimizer.step()
                optimizer.clear_grad()
            path = str(Path(folder) / f"{epoch}.pdparams")
            if IN_BACKGROUND:
                # Copies, since the next step changes the weights while they are being written.
                paddle.async_save({name: value.clone() for name, value in model.state_dict().items()}, path)
            else:
                paddle.save(model.state_dict(), path)
        paddle.clear_async_save_task_queue()


if __name__ == "__main__":
    main()
