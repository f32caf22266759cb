"""Photographs to train on: JPEG files in memory, made at the start, decoded for each sample or all at once."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import paddle
from paddle.vision import transforms
from PIL import Image

CLASSES = 10
DIFFERENT = 32
"""Photographs that are made; larger sets repeat them, and each time they are decoded anew."""

Array = npt.NDArray[Any]


def jpegs(side: int) -> list[bytes]:
    """Photographs of soft colours as JPEG files, ``side`` pixels wide and high."""
    random = np.random.default_rng(0)
    files = []
    for _ in range(DIFFERENT):
        image = Image.fromarray(random.integers(0, 256, (16, 16, 3), dtype=np.uint8)).resize((side, side))
        file = io.BytesIO()
        image.save(file, "JPEG", quality=90)
        files.append(file.getvalue())
    return files


def decode(file: bytes) -> Array:
    """The pixels of a JPEG file, float32 [3, height, width] from -1 to 1."""
    pixels = np.asarray(Image.open(io.BytesIO(file)).convert("RGB"), dtype="float32")
    return np.ascontiguousarray(pixels.transpose(2, 0, 1)) / 127.5 - 1


class Photos(paddle.io.Dataset):  # type: ignore[misc]  # mypy sees nothing of Paddle
    """Photographs of ``side`` pixels with a label each; a sample is decoded when it is asked for.

    With ``augment`` it is cropped from a photograph twice as wide, flipped, and its colours are changed, as for the
    training of a classifier.
    """

    def __init__(self, count: int, side: int, augment: bool = False) -> None:
        super().__init__()
        self.count = count
        self.files = jpegs(2 * side if augment else side)
        steps = [
            transforms.RandomResizedCrop(side),
            transforms.RandomHorizontalFlip(),
            transforms.ColorJitter(0.4, 0.4, 0.4, 0.1),
            transforms.Transpose(),
            transforms.Normalize(127.5, 127.5),
        ]
        self.augmented = transforms.Compose(steps) if augment else None

    def __getitem__(self, index: int) -> tuple[Array, int]:
        file = self.files[index % DIFFERENT]
        label = index % CLASSES
        if self.augmented is None:
            return decode(file), label
        return self.augmented(Image.open(io.BytesIO(file)).convert("RGB")), label

    def __len__(self) -> int:
        return self.count


class Stored(paddle.io.Dataset):  # type: ignore[misc]  # mypy sees nothing of Paddle
    """Photographs that were decoded once and are read as arrays, ``np.save`` having put them into ``folder``."""

    def __init__(self, count: int, side: int, folder: Path) -> None:
        super().__init__()
        self.count = count
        self.folder = folder
        for number, file in enumerate(jpegs(side)):
            np.save(folder / f"{number}.npy", decode(file))

    def __getitem__(self, index: int) -> tuple[Array, int]:
        return np.load(self.folder / f"{index % DIFFERENT}.npy"), index % CLASSES

    def __len__(self) -> int:
        return self.count


def in_memory(count: int, side: int) -> list[Array]:
    """Photographs and labels, decoded before training, for scripts in which loading is not what is measured."""
    pixels = [decode(file) for file in jpegs(side)]
    images = np.stack([pixels[index % DIFFERENT] for index in range(count)])
    return [images, np.arange(count) % CLASSES]
