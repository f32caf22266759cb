"""One large linear layer in mixed precision: 576 rows of ``K`` numbers to ``N`` outputs, as in a published table."""

from __future__ import annotations

import argparse

import numpy as np
import paddle
from paddle import nn

K = 1504
N = 10000
STEPS = 50


def main() -> None:
    """Train ``STEPS`` steps."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shrink", type=int, default=1, help="divide N by this, for a slow device")
    outputs = N // parser.parse_args().shrink
    paddle.seed(0)
    random = np.random.default_rng(0)
    samples = random.random((STEPS * 16, 36, K), dtype="float32")
    loader = paddle.io.DataLoader(paddle.io.TensorDataset([samples]), batch_size=16)
    model = nn.Linear(K, outputs)
    optimizer = paddle.optimizer.SGD(learning_rate=1e-3, parameters=model.parameters())
    scaler = paddle.amp.GradScaler()
    for (batch,) in loader:
        with paddle.amp.auto_cast():
            loss = model(batch).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.clear_grad()


if __name__ == "__main__":
    main()
