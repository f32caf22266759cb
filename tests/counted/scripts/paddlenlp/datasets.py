"""A dataset whose ``map`` is lazy, as PaddleNLP's is: without ``lazy=False`` each read of a sample converts it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import paddle


class MapDataset(paddle.io.Dataset):  # type: ignore[misc]  # mypy sees nothing of Paddle
    """Samples, and the functions that convert them when they are read."""

    def __init__(self, data: Sequence[Any]) -> None:
        super().__init__()
        self.data = data
        self.later: list[Callable[[Any], Any]] = []

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, index: int) -> Any:
        sample = self.data[index]
        for convert in self.later:
            sample = convert(sample)
        return sample

    def map(self, convert: Callable[[Any], Any], lazy: bool = True) -> MapDataset:
        """Convert all samples, when they are read or at once, and give back the dataset itself."""
        if lazy:
            self.later.append(convert)
        else:
            self.data = [convert(sample) for sample in self.data]
        return self
