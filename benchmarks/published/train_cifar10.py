"""The CIFAR-10 example of Paddle's profiler guide: a small network, read by ``WORKERS`` workers.

The archive is made here: random pixels in the format of the real one.  Decoding costs the same.
"""

from __future__ import annotations

import io
import pickle
import tarfile
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import paddle
from paddle import nn
from paddle.nn import functional
from paddle.vision.transforms import Compose, Normalize, Transpose

WORKERS = 1
STEPS = 110
"""More than are measured, so that the workers have something to read until the end."""
BATCH = 32
CLASSES = 10


def write_archive(path: Path, count: int) -> None:
    """Write an archive of ``count`` images as ``paddle.vision.datasets.Cifar10`` reads them."""
    random = np.random.default_rng(0)
    batch = {
        b"data": random.integers(0, 256, (count, 3 * 32 * 32), dtype=np.uint8),
        b"labels": random.integers(0, CLASSES, count).tolist(),
    }
    content = pickle.dumps(batch)
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        entry = tarfile.TarInfo("cifar-10-batches-py/data_batch_1")
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))


def network() -> Any:
    """The network of the guide."""
    return nn.Sequential(
        nn.Conv2D(3, 32, 3),
        nn.ReLU(),
        nn.MaxPool2D(2, 2),
        nn.Conv2D(32, 64, 3),
        nn.ReLU(),
        nn.MaxPool2D(2, 2),
        nn.Conv2D(64, 64, 3),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(1024, 64),
        nn.ReLU(),
        nn.Linear(64, CLASSES),
    )


def main() -> None:
    """Train ``STEPS`` steps."""
    paddle.seed(0)
    np.random.seed(0)
    # Arrays rather than ToTensor(): on the CPU a worker of Paddle 3.3.1 crashes on samples that are tensors.
    transform = Compose([Transpose(), Normalize(mean=0.0, std=255.0)])
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder) / "cifar-10-python.tar.gz"
        write_archive(archive, STEPS * BATCH)
        images = paddle.vision.datasets.Cifar10(data_file=str(archive), mode="train", transform=transform)
    model = network()
    optimizer = paddle.optimizer.Adam(learning_rate=0.001, parameters=model.parameters())
    loader = paddle.io.DataLoader(images, shuffle=True, batch_size=BATCH, num_workers=WORKERS)
    for image, label in loader:
        loss = functional.cross_entropy(model(image), label)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()


if __name__ == "__main__":
    main()
