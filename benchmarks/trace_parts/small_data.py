"""Makers of small random data for the programs that are recorded: photographs, arrays, texts, changed configurations.

Each returns a function that is given the copy of a repository; ``made`` joins several.
"""

from __future__ import annotations

import gzip
import json
import pickle
import struct
import tarfile
from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from PIL import Image

Maker = Callable[[Path], None]


def made(*makers: Maker) -> Maker:
    """All of some data, in order."""

    def make(root: Path) -> None:
        for each in makers:
            each(root)

    return make


def photos(pattern: str, count: int, size: tuple[int, int], mode: str = "RGB", most: int = 256) -> Maker:
    """Photographs of noise, seen from afar: ``photos("data/{:03}.png", 8, (64, 64))``; ``most``: below this value."""

    def make(root: Path) -> None:
        random = np.random.default_rng(0)
        for number in range(count):
            path = root / pattern.format(number)
            path.parent.mkdir(parents=True, exist_ok=True)
            shape = (8, 8, 3) if mode == "RGB" else (8, 8)
            photo = Image.fromarray(random.integers(0, most, shape, dtype=np.uint8), mode)
            photo.resize(size, Image.Resampling.NEAREST).save(path)

    return make


def array(path: str, shape: Sequence[int], below: int = 0, kind: str = "") -> Maker:
    """A NumPy file of normal numbers, or of integers below a number."""

    def make(root: Path) -> None:
        random = np.random.default_rng(0)
        values = random.integers(0, below, shape) if below else random.normal(size=shape).astype(np.float32)
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        np.save(root / path, values.astype(kind) if kind else values)

    return make


def text(path: str, row: str, count: int = 1) -> Maker:
    """A text of rows in which ``{}`` is the number of the row."""

    def make(root: Path) -> None:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("".join(row.format(number) + "\n" for number in range(count)), encoding="utf-8")

    return make


def words(path: str, count: int) -> Maker:
    """A text of one row with as many words, of a small vocabulary."""

    def make(root: Path) -> None:
        random = np.random.default_rng(0)
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(" ".join(f"w{number}" for number in random.integers(0, 300, count)), encoding="utf-8")

    return make


def configuration(
    source: str, target: str, changes: Mapping[str, Any] | None = None, without: Sequence[str] = ()
) -> Maker:
    """A configuration of the repository with other values: ``{"dataset.train.transforms.0.size": 64}``."""

    def make(root: Path) -> None:
        data = yaml.safe_load((root / source).read_text(encoding="utf-8"))
        for path, value in (changes or {}).items():
            *parents, last = path.split(".")
            inner = data
            for name in parents:
                inner = inner[int(name) if name.isdigit() else name]
            inner[int(last) if last.isdigit() else last] = value
        for name in without:
            data.pop(name, None)
        (root / target).parent.mkdir(parents=True, exist_ok=True)
        (root / target).write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")

    return make


_CACHE = ".cache/paddle/dataset"
"""Where Paddle keeps the sets that it downloads, seen from the home directory."""


def mnist(count: int = 1000) -> Maker:
    """The digits of MNIST in the format of its files, where Paddle keeps them."""

    def make(root: Path) -> None:
        random = np.random.default_rng(0)
        place = root / _CACHE / "mnist"
        place.mkdir(parents=True)
        for part in ("train", "t10k"):
            pixels = random.integers(0, 256, (count, 28, 28), dtype=np.uint8)
            labels = random.integers(0, 10, count, dtype=np.uint8)
            with gzip.open(place / f"{part}-images-idx3-ubyte.gz", "wb") as file:
                file.write(struct.pack(">IIII", 2051, count, 28, 28) + pixels.tobytes())
            with gzip.open(place / f"{part}-labels-idx1-ubyte.gz", "wb") as file:
                file.write(struct.pack(">II", 2049, count) + labels.tobytes())

    return make


def cifar(count: int = 256, classes: int = 10) -> Maker:
    """CIFAR in the format of its archive, where Paddle keeps it."""

    def make(root: Path) -> None:
        random = np.random.default_rng(0)
        place = root / _CACHE / "cifar"
        place.mkdir(parents=True, exist_ok=True)
        key = "labels" if classes == 10 else "fine_labels"
        base = "cifar-10-batches-py" if classes == 10 else "cifar-100-python"
        names = (
            [*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"] if classes == 10 else ["train", "test"]
        )
        with tarfile.open(place / f"cifar-{classes}-python.tar.gz", "w:gz") as archive:
            for name in names:
                pixels = random.integers(0, 256, (count, 3072), dtype=np.uint8)
                content = pickle.dumps({b"data": pixels, key.encode(): random.integers(0, classes, count).tolist()})
                entry = tarfile.TarInfo(f"{base}/{name}")
                entry.size = len(content)
                archive.addfile(entry, BytesIO(content))

    return make


def digits_json(path: str, count: int = 640) -> Maker:
    """Three sets of digits as lists in a JSON file that is compressed."""

    def make(root: Path) -> None:
        random = np.random.default_rng(0)
        sets = [
            [random.random((count, 784)).round(3).tolist(), random.integers(0, 10, count).tolist()] for _ in range(3)
        ]
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        with gzip.open(root / path, "wt", encoding="utf-8") as file:
            json.dump(sets, file)

    return make


def reviews(path: str, count: int = 512) -> Maker:
    """Good and bad reviews of films as texts in an archive, as IMDB has them."""

    def make(root: Path) -> None:
        random = np.random.default_rng(0)
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        with tarfile.open(root / path, "w:gz") as archive:
            for kind in ("pos", "neg"):
                for number in range(count):
                    content = " ".join(f"w{each}" for each in random.integers(0, 300, 30)).encode()
                    entry = tarfile.TarInfo(f"aclImdb/train/{kind}/{number}.txt")
                    entry.size = len(content)
                    archive.addfile(entry, BytesIO(content))

    return make


def views(path: str, count: int = 12) -> Maker:
    """Rendered views of a scene with the places of their cameras."""

    def make(root: Path) -> None:
        for part in ("train", "val", "test"):
            photos(f"{path}/{part}/{{}}.png", count, (40, 40))(root)
            for number in range(count):
                place = root / path / part / f"{number}.png"
                Image.open(place).convert("RGBA").save(place)
            frames = [
                {"file_path": f"./{part}/{number}", "transform_matrix": np.eye(4).tolist()} for number in range(count)
            ]
            data = {"camera_angle_x": 0.69, "frames": frames}
            (root / path / f"transforms_{part}.json").write_text(json.dumps(data), encoding="utf-8")

    return make
