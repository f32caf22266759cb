"""So much of Paddle as ``perflint bench`` and ``profile`` look at, for tests of what they do around a training.

Nothing is computed.  A start takes a tenth of a second, where that of Paddle takes seconds.
``tests/test_bench_paddle.py`` and ``tests/test_profile_paddle.py`` are about the real one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

__version__ = "0.0, made up for tests"


class Tensor:
    """A number, or what can be made one; what its ``backward`` does is what that of the tensor does."""

    shape: Sequence[int] = ()

    def __init__(self, value: float) -> None:
        self.value = value

    def __float__(self) -> float:
        return float(self.value)

    def __add__(self, other: Any) -> Tensor:
        return Tensor(self.value + float(other))

    __radd__ = __add__

    def backward(self) -> None:
        """Nothing to do for a number."""
        getattr(self.value, "backward", list)()

    def detach(self) -> Tensor:
        """The number."""
        return self

    def astype(self, name: str) -> Tensor:
        """The number."""
        return self

    def item(self) -> float:
        """The number, as Python's."""
        return float(self)


class _Batches:
    def __init__(self, batches: Iterator[Sequence[int]]) -> None:
        self._batches = batches

    def __next__(self) -> list[Any]:
        batch = next(self._batches)
        return [SimpleNamespace(shape=[len(batch)], numbers=batch)]


class DataLoader:
    """Batches of a sequence."""

    def __init__(self, dataset: Sequence[int], batch_size: int = 1, num_workers: int = 0) -> None:
        self.dataset, self.batch_size, self.num_workers = dataset, batch_size, num_workers

    def __iter__(self) -> Any:
        starts = range(0, len(self.dataset), self.batch_size)
        return _Batches(self.dataset[start : start + self.batch_size] for start in starts)


class Optimizer:
    """The base of optimizers."""

    def step(self) -> None:
        """Nothing to do."""

    def minimize(self, loss: Tensor) -> None:
        """Steps."""
        self.step()

    def clear_grad(self) -> None:
        """Nothing to do."""


class SGD(Optimizer):
    """An optimizer with a ``step`` of its own."""

    def step(self) -> None:
        """Nothing to do."""


class GradScaler:
    """A scaler that scales by one."""

    def step(self, optimizer: Optimizer) -> None:
        """Steps."""
        optimizer.step()

    def minimize(self, optimizer: Optimizer, loss: Tensor) -> None:
        """Steps."""
        optimizer.minimize(loss)


def mean(batch: Any) -> Tensor:
    """The mean of a batch's numbers."""
    return Tensor(sum(batch.numbers) / len(batch.numbers))


def to_tensor(value: Any) -> Tensor:
    """A tensor of a number."""
    return Tensor(float(value))


def save(value: Any, path: str) -> None:
    """Write the text of a value."""
    Path(path).write_text(str(value))


class Layer:
    """A layer, which calls its ``forward``."""

    training = True

    def __call__(self, *arguments: Any) -> Any:
        return self.forward(*arguments)  # type: ignore[attr-defined]  # of classes below


def seed(value: int) -> None:
    """Nothing is drawn."""


nn = SimpleNamespace(Layer=Layer)
io = SimpleNamespace(DataLoader=DataLoader)
optimizer = SimpleNamespace(Optimizer=Optimizer, SGD=SGD)
amp = SimpleNamespace(GradScaler=GradScaler)
device = SimpleNamespace(get_device=lambda: "cpu")
distributed = SimpleNamespace(spawn=lambda function, nprocs: None)
_WAITS = os.environ.get("WAITS", "")
"""A file that gets a letter for each wait; where it is named, there is a GPU."""


def _wait() -> None:
    with Path(_WAITS).open("a") as file:
        file.write("w")


if _WAITS:
    card = SimpleNamespace(max_memory_allocated=lambda: 300 << 20, get_device_name=lambda: "a made-up card")
    device = SimpleNamespace(get_device=lambda: "gpu:0", synchronize=_wait, cuda=card)
