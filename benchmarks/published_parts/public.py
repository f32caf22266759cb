"""The public training scripts that are measured, and the small data that is made for them.

They were chosen because they run on a CPU with Paddle 3.3.1 as they are, need no data that has to be downloaded, and
have findings whose fixes change code that they run.  What the measurement would give played no part.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image


@dataclass(frozen=True)
class Script:
    """A script of a repository, seen from its root; ``needs`` are packages beside Paddle.

    ``make_data`` is given a copy of the repository, and ``data`` says in words what it puts there.
    """

    name: str
    repository: str
    commit: str
    script: str
    arguments: tuple[str, ...]
    needs: tuple[str, ...]
    warmup: int
    steps: int
    data: str
    make_data: Callable[[Path], None]

    @property
    def address(self) -> str:
        """Of the repository."""
        return f"https://github.com/{self.repository}"

    @property
    def link(self) -> str:
        """The script at its commit, as Markdown."""
        name = f"{self.repository.split('/')[1]} {self.script}"
        return f"[{name}]({self.address}/blob/{self.commit}/{self.script})"


def _nothing(_: Path) -> None:
    """The repository brings its own sample."""


_FACES = 64
_ROWS = 81920
"""Rows of the list of faces: 80 batches of the 1024 that the repository's configuration asks for."""


def _faces(root: Path) -> None:
    """Patches of 12 by 12 pixels as JPEG files, and a list of them as ``tools/dataset.py`` reads it."""
    random = np.random.default_rng(0)
    folder = root / "annotations" / "faces"
    folder.mkdir(parents=True)
    for number in range(_FACES):
        Image.fromarray(random.integers(0, 256, (12, 12, 3), dtype=np.uint8)).save(folder / f"{number}.jpg")
    for part, count in (("train", _ROWS), ("val", 1024)):
        rows = []
        for number in range(count):
            place = f"annotations/faces/{number % _FACES}.jpg"
            box = " ".join(f"{x:.2f}" for x in random.uniform(-0.2, 0.2, 4))
            rows.append([f"{place} 0", f"{place} 1 {box}", f"{place} -1 {box}"][number % 3])
        (root / "annotations" / f"imglist_anno_12_{part}.txt").write_text("\n".join(rows) + "\n", encoding="utf-8")


_STREETS = 32
_WIDTH, _HEIGHT = 2048, 1024
_CONFIGURATION = """\
batch_size: 4
iters: 1000

train_dataset:
  type: Dataset
  dataset_root: data/generated
  train_path: data/generated/train.txt
  num_classes: 2
  mode: train
  transforms:
    - type: ResizeStepScaling
      min_scale_factor: 0.5
      max_scale_factor: 2.0
      scale_step_size: 0.25
    - type: RandomPaddingCrop
      crop_size: [256, 256]
    - type: RandomHorizontalFlip
    - type: RandomDistort
      brightness_range: 0.5
      contrast_range: 0.5
      saturation_range: 0.5
    - type: Normalize

optimizer:
  type: SGD
  momentum: 0.9
  weight_decay: 4.0e-5

lr_scheduler:
  type: PolynomialDecay
  learning_rate: 0.01
  end_lr: 0
  power: 0.9

loss:
  types:
    - type: CrossEntropyLoss
    - type: CrossEntropyLoss
  coef: [1.0, 0.4]

model:
  type: FastSCNN
  enable_auxiliary_loss: True
  pretrained: null
"""


def _streets(root: Path) -> None:
    """Photographs as large as those of Cityscapes, a class for each pixel, and a configuration that trains on them."""
    random = np.random.default_rng(0)
    folder = root / "data" / "generated"
    folder.mkdir(parents=True)
    size = (_WIDTH, _HEIGHT)
    for number in range(_STREETS):
        photo = Image.fromarray(random.integers(0, 256, (24, 24, 3), dtype=np.uint8))
        photo.resize(size).save(folder / f"{number}.jpg", quality=90)
        classes = Image.fromarray(random.integers(0, 2, (6, 6), dtype=np.uint8))
        classes.resize(size, Image.Resampling.NEAREST).save(folder / f"{number}.png")
    rows = [f"{number}.jpg {number}.png" for number in range(_STREETS)]
    (folder / "train.txt").write_text("\n".join(rows) + "\n", encoding="utf-8")
    (folder / "config.yml").write_text(_CONFIGURATION, encoding="utf-8")


SCRIPTS = (
    Script(
        "paddlerec",
        "PaddlePaddle/PaddleRec",
        "656326adf3c4117c11ec0eff5e8f61acd8191c2a",
        "tools/trainer.py",
        ("-m", "models/recall/ncf/config.yaml"),
        ("six",),
        warmup=10,
        steps=50,
        data="the repository's own sample of 100 rows, in its own configuration of neural collaborative "
        "filtering: batches of 5",
        make_data=_nothing,
    ),
    Script(
        "mtcnn",
        "icey-zhang/MTCNN_paddle",
        "716f9e4c6977e333e94f4fb14012ea4863fcda19",
        "training/pnet/train.py",
        (),
        ("easydict", "opencv-python-headless"),
        warmup=10,
        steps=50,
        data="64 JPEG files of 12 by 12 pixels, listed 81,920 times, in the repository's own configuration: batches of "
        "1024, read by 4 workers",
        make_data=_faces,
    ),
    Script(
        "paddleseg",
        "PaddlePaddle/PaddleSeg",
        "d7975e7cb3b9102eae4eabcef5afb81b878473aa",
        "tools/train.py",
        ("--config", "data/generated/config.yml", "--device", "cpu"),
        (
            "visualdl",
            "opencv-python-headless",
            "tqdm",
            "filelock",
            "scipy",
            "prettytable",
            "scikit-learn",
            "scikit-image",
        ),
        warmup=5,
        steps=20,
        data="32 photographs of 2048 by 1024 pixels, scaled and cropped to 256, in batches of 4, for Fast-SCNN",
        make_data=_streets,
    ),
)
BY_NAME = {script.name: script for script in SCRIPTS}
