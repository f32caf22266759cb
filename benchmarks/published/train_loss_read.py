"""A loop that reads its loss on the host every ``EVERY`` steps.  Each read makes Python wait for the device."""

from __future__ import annotations

import numpy as np
import paddle
from paddle import nn
from paddle.nn import functional

EVERY = 1
STEPS = 120
BATCH = 256
CLASSES = 10


def main() -> None:
    """Train ``STEPS`` steps."""
    paddle.seed(0)
    hidden = [layer for _ in range(2) for layer in (nn.Linear(256, 256), nn.ReLU())]
    model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), *hidden, nn.Linear(256, CLASSES))
    optimizer = paddle.optimizer.Momentum(learning_rate=0.01, momentum=0.9, parameters=model.parameters())
    random = np.random.default_rng(0)
    rows = random.random((STEPS * BATCH, 64), dtype="float32")
    samples = paddle.io.TensorDataset([rows, random.integers(0, CLASSES, len(rows))])
    for step, (batch, classes) in enumerate(paddle.io.DataLoader(samples, batch_size=BATCH)):
        loss = functional.cross_entropy(model(batch), classes)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        if step % EVERY == 0:
            print(f"step {step} loss {float(loss):.4f}")


if __name__ == "__main__":
    main()
