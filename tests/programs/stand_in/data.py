"""The stand-in's data sets, loaders, metrics and saving."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tests.programs.stand_in.device import current
from tests.programs.stand_in.tensors import Tensor, tensor_of


class Dataset:
    """Samples by number."""

    def __getitem__(self, index: int) -> Any:
        raise NotImplementedError

    def __len__(self) -> int:
        raise NotImplementedError


class DataLoader:
    """Batches of a data set; with workers, those work on a copy of it, as a forked process does."""

    def __init__(
        self,
        dataset: Dataset,
        batch_size: int = 1,
        shuffle: bool = False,
        drop_last: bool = False,
        num_workers: int = 0,
        use_shared_memory: bool = True,
        collate_fn: Callable[[list[Any]], Any] | None = None,
    ) -> None:
        self.dataset, self.batch_size, self.shuffle, self.drop_last = dataset, batch_size, shuffle, drop_last
        self.num_workers, self.collate_fn = num_workers, collate_fn or _stacked

    def __len__(self) -> int:
        return (len(self.dataset) + (0 if self.drop_last else self.batch_size - 1)) // self.batch_size

    def __iter__(self) -> Iterator[Any]:
        order = np.random.permutation(len(self.dataset)) if self.shuffle else np.arange(len(self.dataset))
        dataset = copy.deepcopy(self.dataset) if self.num_workers else self.dataset
        for number in range(len(self)):
            places = order[number * self.batch_size : (number + 1) * self.batch_size]
            yield self.collate_fn([dataset[int(place)] for place in places])


def _stacked(samples: list[Any]) -> list[Tensor]:
    return [tensor_of(np.stack([np.asarray(part) for part in column])) for column in zip(*samples, strict=True)]


class Accuracy:
    """How many rows have their largest value at the wanted column."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.right, self.seen = 0.0, 0

    def compute(self, given: Tensor, wanted: Tensor) -> Tensor:
        return (given.argmax(1) == wanted.reshape([-1])).astype("float32")

    def update(self, correct: Tensor) -> float:
        found = correct.numpy()
        self.right, self.seen = self.right + float(found.sum()), self.seen + found.size
        return float(found.sum()) / found.size

    def accumulate(self) -> float:
        return self.right / self.seen if self.seen else 0.0


def _plain(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.array.copy()
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def save(value: Any, path: str) -> None:
    """Write the arrays of what is given."""
    current().saved(path)
    current().read()
    _write(value, path)


def _write(value: Any, path: str) -> None:
    Path(path).write_bytes(pickle.dumps(_plain(value)))


def load(path: str) -> Any:
    """What ``save`` wrote."""
    return pickle.loads(Path(path).read_bytes())


def async_save(value: Any, path: str, sync_other_task: bool = False) -> None:
    """Promise to write: on a CPU nothing is copied, so the file may hold what the tensors hold later."""
    current().saved(path)
    if sync_other_task:
        current().finish_writes()
    current().unfinished.append(lambda: _write(value, path))


def clear_async_save_task_queue() -> None:
    """Make the writes that were promised."""
    current().finish_writes()
