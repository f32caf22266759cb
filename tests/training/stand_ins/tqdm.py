"""What the fixtures need of tqdm: a bar that is a plain iterable and prints what it is told."""

from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class tqdm(Generic[T]):  # noqa: N801 - the name of the real one
    def __init__(self, iterable: Iterable[T]) -> None:
        self.iterable = iterable

    def __iter__(self) -> Iterator[T]:
        return iter(self.iterable)

    def set_postfix(self, **values: float) -> None:
        print(" ".join(f"{key} {value}" for key, value in values.items()))
