"""A loader without worker processes.  Scripts about loading are not measured with the stand-in."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from .place import DEVICE, ON_CARD
from .tensors import Tensor
from .unknown import refuse

Array = npt.NDArray[Any]
_AHEAD = 2
"""Batches that are read ahead, as by Paddle."""


class Dataset:
    """Samples by number."""


class TensorDataset(Dataset):
    """Rows of arrays that all have as many."""

    def __init__(self, tensors: Sequence[Array]) -> None:
        self.tensors = tensors

    def __getitem__(self, index: int) -> tuple[Any, ...]:
        return tuple(each[index] for each in self.tensors)

    def __len__(self) -> int:
        return len(self.tensors[0])


class DataLoader:
    """Batches of a dataset on the current device, in the order in which Paddle gives them after the same seed."""

    def __init__(self, dataset: Any, batch_size: int = 1, shuffle: bool = False) -> None:
        self.dataset = dataset
        self.batch_size = batch_size
        self.shuffle = shuffle

    def __iter__(self) -> Iterator[list[Tensor]]:
        return _Batches(self)

    def __len__(self) -> int:
        return -(-len(self.dataset) // self.batch_size)


class _Batches:
    """Reads ahead in a thread, which ends with this object."""

    def __init__(self, loader: DataLoader) -> None:
        self._dataset = loader.dataset
        order = np.arange(len(loader.dataset))
        if loader.shuffle:
            order = np.random.choice(order, len(order), replace=False)
        self._parts = iter(
            [order[first : first + loader.batch_size] for first in range(0, len(order), loader.batch_size)]
        )
        self._thread = ThreadPoolExecutor(1)
        self._waiting: deque[Future[list[Tensor]]] = deque()
        for _ in range(_AHEAD):
            self._read_on()

    def __iter__(self) -> _Batches:
        return self

    def __next__(self) -> list[Tensor]:
        if not self._waiting:
            self._thread.shutdown(wait=False)
            raise StopIteration
        batch = self._waiting.popleft().result()
        self._read_on()
        return batch

    def _read_on(self) -> None:
        part = next(self._parts, None)
        if part is not None:
            self._waiting.append(self._thread.submit(_read, self._dataset, part))


def _read(dataset: Any, part: Array) -> list[Tensor]:
    samples = [dataset[index] for index in part.tolist()]
    return [_sent(np.stack(field)) for field in zip(*samples, strict=True)]


def _sent(field: Array) -> Tensor:
    """On the device.  The copy is made from pinned memory: one that is not makes the host wait for the card."""
    values = torch.from_numpy(field)
    return values.pin_memory().to(DEVICE, non_blocking=True) if ON_CARD else values


def __getattr__(name: str) -> Any:
    refuse(__name__, name)
