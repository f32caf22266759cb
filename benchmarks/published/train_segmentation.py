"""Segmentation as DeepLabv3+ is trained: ``WORKERS`` workers decode, scale, crop and flip JPEG files.

The photographs are made here and written as JPEG and PNG files.  The network is two convolutions: what is compared is
the reading.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import paddle
from paddle import nn
from paddle.nn import functional
from PIL import Image

WORKERS = 2
STEPS = 112
"""More than are measured, so that the workers have something to read until the end."""
BATCH = 4
CLASSES = 19
WIDTH, HEIGHT = 1024, 512
CROP = 256
PHOTOS = 16

Array = npt.NDArray[Any]


class Streets(paddle.io.Dataset):  # type: ignore[misc]  # mypy sees nothing of Paddle
    """Photographs of streets with a class for each pixel, read from a folder."""

    def __init__(self, folder: Path, count: int) -> None:
        super().__init__()
        self.folder = folder
        self.count = count
        random = np.random.default_rng(0)
        for number in range(PHOTOS):
            photo = Image.fromarray(random.integers(0, 256, (32, 64, 3), dtype=np.uint8)).resize((WIDTH, HEIGHT))
            photo.save(folder / f"{number}.jpg", quality=90)
            classes = Image.fromarray(random.integers(0, CLASSES, (8, 16), dtype=np.uint8))
            classes.resize((WIDTH, HEIGHT), Image.Resampling.NEAREST).save(folder / f"{number}.png")

    def __getitem__(self, index: int) -> tuple[Array, Array]:
        random = np.random.default_rng(index)  # the sample is the same whoever reads it
        name = self.folder / f"{index % PHOTOS}"
        photo, classes = Image.open(name.with_suffix(".jpg")), Image.open(name.with_suffix(".png"))
        scale = random.uniform(0.5, 2.0)
        size = (int(WIDTH * scale), int(HEIGHT * scale))
        pixels = np.asarray(photo.resize(size, Image.Resampling.BILINEAR), dtype="float32")
        labels = np.asarray(classes.resize(size, Image.Resampling.NEAREST), dtype="int64")
        top, left = (int(random.integers(0, length - CROP + 1)) for length in labels.shape)
        place = np.s_[top : top + CROP, left : left + CROP]
        pixels, labels = pixels[place] / 127.5 - 1, labels[place]
        if random.random() < 0.5:
            pixels, labels = pixels[:, ::-1], labels[:, ::-1]
        # The classes of every eighth pixel, which is what the network gives.
        return np.ascontiguousarray(pixels.transpose(2, 0, 1)), np.ascontiguousarray(labels[::8, ::8])

    def __len__(self) -> int:
        return self.count


def network() -> Any:
    """Down to an eighth of the size in one convolution: beside a GPU too, reading has the cores for itself."""
    return nn.Sequential(nn.Conv2D(3, 16, 8, stride=8), nn.ReLU(), nn.Conv2D(16, CLASSES, 1))


def main() -> None:
    """Train ``STEPS`` steps."""
    paddle.seed(0)
    np.random.seed(0)
    with tempfile.TemporaryDirectory() as folder:
        model = network()
        optimizer = paddle.optimizer.Momentum(learning_rate=0.01, momentum=0.9, parameters=model.parameters())
        streets = Streets(Path(folder), STEPS * BATCH)
        for photo, classes in paddle.io.DataLoader(streets, batch_size=BATCH, num_workers=WORKERS):
            loss = functional.cross_entropy(model(photo), classes, axis=1)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()


if __name__ == "__main__":
    main()
