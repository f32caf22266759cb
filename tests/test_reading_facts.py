"""What the pages of the rules about loaders and samples say of Paddle, tried on Paddle itself (CPU)."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import paddle
import pytest


def told(program: str, folder: Path) -> Any:
    """What a program with workers writes to the file that it is handed; in a process of its own."""
    answer = folder / "found.json"
    subprocess.run([sys.executable, "-c", program, str(answer)], check=True, capture_output=True, timeout=120)
    return json.loads(answer.read_text())


# --- PPF104

WORKERS_THAT_STAY = """
import json, sys, time
import numpy as np
import paddle

class Epochs(paddle.io.Dataset):
    epoch = 0
    def __len__(self):
        return 8
    def __getitem__(self, index):
        return np.array([self.epoch])

found = {}
for stay in (True, False):
    dataset = Epochs()
    loader = paddle.io.DataLoader(dataset, batch_size=4, num_workers=1, persistent_workers=stay)
    seen = []
    for dataset.epoch in range(3):
        start = time.perf_counter()
        batches = iter(loader)
        seen.append(int(next(batches).numpy().max()))
        waited = time.perf_counter() - start
        list(batches)
    stopped = paddle.io.DataLoader(dataset, batch_size=2, num_workers=1, persistent_workers=stay)
    try:
        for pause in (0, 0, 0.01, 0.1, 1, 1):  # it fails where the worker has gone as far as it may
            for _ in stopped:
                time.sleep(pause)
                break
        error = ""
    except IndexError as problem:
        error = str(problem)
    found[str(stay)] = [seen, error, waited >= 0.5]
json.dump(found, open(sys.argv[1], "w"))
"""


def test_ppf104_workers_that_stay_see_the_first_epoch_only_and_start_late(tmp_path: Path) -> None:
    found = told(WORKERS_THAT_STAY, tmp_path)
    assert found["True"] == [[0, 0, 0], "pop from empty list", True]
    assert found["False"][:2] == [[0, 1, 2], ""]


# --- PPF106


class Samples(paddle.io.Dataset):  # type: ignore[misc]  # Paddle has no types that mypy can follow
    """Four samples of one kind."""

    def __init__(self, sample: Callable[[int], Any]) -> None:
        super().__init__()
        self.sample = sample

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> Any:
        return self.sample(index)


IMAGE = np.arange(12, dtype="float64").reshape(3, 4)


@pytest.mark.parametrize(
    ("tensor", "array"),
    [
        pytest.param(
            lambda index: paddle.to_tensor(IMAGE * index), lambda index: np.asarray(IMAGE * index), id="an array"
        ),
        pytest.param(lambda index: paddle.to_tensor(index), lambda index: np.asarray(index), id="a whole number"),
        pytest.param(
            lambda index: paddle.to_tensor([index / 3], dtype="float32"),
            lambda index: np.asarray([index / 3], dtype="float32"),
            id="a type that is said",
        ),
        pytest.param(
            lambda index: paddle.to_tensor(IMAGE).astype("float32").transpose([1, 0]),
            lambda index: np.asarray(IMAGE).astype("float32").transpose([1, 0]),
            id="methods that both have",
        ),
    ],
)
def test_ppf106_batches_of_arrays_are_those_of_tensors(
    tensor: Callable[[int], Any], array: Callable[[int], Any]
) -> None:
    batches = [next(iter(paddle.io.DataLoader(Samples(sample), batch_size=4))) for sample in (tensor, array)]
    assert batches[0].dtype == batches[1].dtype
    assert (batches[0].numpy() == batches[1].numpy()).all()


def test_ppf106_of_fractions_of_python_numpy_makes_float64() -> None:
    assert paddle.to_tensor([0.5]).dtype == paddle.float32
    assert np.asarray([0.5]).dtype == np.float64
