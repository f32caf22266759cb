"""The small data that the traced scripts train on: what their own configurations ask for, in their own formats."""

from __future__ import annotations

import json
import wave
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from PIL import Image


def nothing(_: Path) -> None:
    """The repository brings its own sample, or the script makes its data itself."""


def _photos(folder: Path, count: int, size: tuple[int, int], seed: int = 0) -> list[str]:
    """Make photographs of noise, seen from afar; their names."""
    random = np.random.default_rng(seed)
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        photo = Image.fromarray(random.integers(0, 256, (8, 8, 3), dtype=np.uint8))
        photo.resize(size).save(folder / f"{number}.jpg")
    return [f"{number}.jpg" for number in range(count)]


def _changed(source: Path, target: Path, changes: dict[str, Any]) -> None:
    """A configuration with other values: ``{"dataset.train.batch_size": 4}``."""
    data = yaml.safe_load(source.read_text(encoding="utf-8"))
    for path, value in changes.items():
        *parents, last = path.split(".")
        inner = data
        for name in parents:
            inner = inner[name]
        inner[last] = value
    target.write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")


def flowers(root: Path) -> None:
    """256 photographs of 102 classes, as the quick start of PaddleClas lists them."""
    folder = root / "dataset" / "flowers102"
    names = _photos(folder / "jpg", 256, (250, 250))
    rows = [f"jpg/{name} {number % 102}\n" for number, name in enumerate(names)]
    (folder / "train_list.txt").write_text("".join(rows), encoding="utf-8")
    (folder / "val_list.txt").write_text("".join(rows[:32]), encoding="utf-8")


def boxes(root: Path) -> None:
    """64 photographs with two boxes each, in the format of COCO."""
    folder = root / "dataset" / "coco"
    random = np.random.default_rng(0)
    (folder / "annotations").mkdir(parents=True)
    for part in ("train2017", "val2017"):
        names = _photos(folder / part, 64, (320, 240))
        images = [{"id": number, "file_name": name, "width": 320, "height": 240} for number, name in enumerate(names)]
        found = []
        for number in range(128):
            x, y, width, height = (int(each) for each in random.integers((0, 0, 40, 40), (200, 120, 120, 120)))
            found.append(
                {
                    "id": number, "image_id": number % 64, "category_id": number % 80 + 1, "iscrowd": 0,
                    "bbox": [x, y, width, height], "area": width * height, "segmentation": [],
                }
            )  # fmt: skip
        kinds = [{"id": number + 1, "name": f"kind {number}"} for number in range(80)]
        data = {"images": images, "annotations": found, "categories": kinds}
        (folder / "annotations" / f"instances_{part}.json").write_text(json.dumps(data), encoding="utf-8")


def horses(root: Path) -> None:
    """Two sets of 8 photographs, and the repository's configuration with a smaller network and smaller images."""
    for number, name in enumerate(("trainA", "trainB", "testA", "testB")):
        _photos(root / "data" / "horse2zebra" / name, 8, (96, 96), number)
    source = root / "configs" / "cyclegan_horse2zebra.yaml"
    data = yaml.safe_load(source.read_text(encoding="utf-8"))
    for part in ("train", "test"):
        steps = data["dataset"][part]["preprocess"][2]["pipeline"]
        steps[0]["size"] = [72, 72] if part == "train" else [64, 64]
        if part == "train":
            steps[1]["size"] = [64, 64]
    del data["validate"]  # which would download the weights of another network
    data["model"]["generator"].update(n_blocks=2, ngf=8)
    data["model"]["discriminator"].update(ndf=8)
    (root / "data" / "generated.yaml").write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")


def voices(root: Path) -> None:
    """64 sounds of one second from 8 speakers, and the repository's configuration with a smaller network."""
    folder = root / "dataset" / "generated"
    folder.mkdir(parents=True)
    random = np.random.default_rng(0)
    rows = []
    for number in range(64):
        sound = random.normal(0, 4000, 16000).astype(np.int16)
        with wave.open(str(folder / f"{number}.wav"), "wb") as file:
            file.setparams((1, 2, 16000, 0, "NONE", "not compressed"))
            file.writeframes(sound.tobytes())
        rows.append(f"dataset/generated/{number}.wav\t{number % 8}\n")
    (root / "dataset" / "train_list.txt").write_text("".join(rows), encoding="utf-8")
    (root / "dataset" / "cn-celeb-test").mkdir()
    for name in ("enroll_list.txt", "trials_list.txt"):
        (root / "dataset" / "cn-celeb-test" / name).write_text("".join(rows[:8]), encoding="utf-8")
    _changed(
        root / "configs" / "ecapa_tdnn.yml",
        root / "configs" / "generated.yml",
        {
            "dataset_conf.sampler.batch_size": 4,
            "model_conf.model_args.channels": [32, 32, 32, 32, 96],
            "model_conf.classifier.num_speakers": 8,
        },
    )
