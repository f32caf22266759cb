"""Stand-ins for what programs import besides Paddle.

``tqdm`` and ``visualdl`` write down what they are shown; ``gc`` and ``time`` do nothing, since a collection among the
objects of a whole test run takes longer than the program itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Any, Generic, TypeVar

T = TypeVar("T")
Shown = list[tuple[str, ...]]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else repr(float(value))


def modules(bars: Shown, points: Shown) -> dict[str, ModuleType]:
    """``tqdm``, ``visualdl``, ``gc`` and ``time``, for one run.

    Args:
        bars: gets what progress bars show.
        points: gets the points of curves: tag, step, value.
    """

    class Bar(Generic[T]):
        def __init__(self, iterable: Iterable[T] = (), desc: str = "", total: int | None = None) -> None:
            self.iterable = iterable

        def __iter__(self) -> Iterator[T]:
            return iter(self.iterable)

        def __len__(self) -> int:
            return len(self.iterable)  # type: ignore[arg-type]  # fails as it should where there is no length

        def set_postfix(self, **values: Any) -> None:
            bars.append(tuple(f"{key}={_text(value)}" for key, value in values.items()))

        def set_description(self, text: str) -> None:
            bars.append((text,))

        def update(self, count: int = 1) -> None:
            return None

        def close(self) -> None:
            return None

        @staticmethod
        def write(text: str) -> None:
            print(text)

    class LogWriter:
        def __init__(self, logdir: str = "") -> None:
            self.logdir = logdir

        def add_scalar(self, tag: str, value: Any, step: int) -> None:
            points.append((tag, str(step), repr(float(value))))

        def __enter__(self) -> LogWriter:
            return self

        def __exit__(self, *_: object) -> None:
            return None

        def close(self) -> None:
            return None

    tqdm, visualdl, gc, time = (ModuleType(name) for name in ("tqdm", "visualdl", "gc", "time"))
    vars(gc).update(collect=lambda: 0)
    vars(time).update(sleep=lambda seconds: None)
    vars(tqdm).update(tqdm=Bar, trange=lambda count: Bar(range(count)))
    vars(visualdl).update(LogWriter=LogWriter)
    return {"tqdm": tqdm, "visualdl": visualdl, "gc": gc, "time": time}
