"""Paddle and its stand-in, ready to run a program with."""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any

from tests.programs import stand_in
from tests.programs.stand_in import data
from tests.programs.stand_in.device import Device, use


class StandIn:
    """The stand-in of ``tests/programs/stand_in``."""

    def modules(self) -> Mapping[str, ModuleType]:
        return stand_in.modules()

    @contextlib.contextmanager
    def running(self, on_backward: Callable[[], None], saved: Callable[[str], None]) -> Iterator[Callable[[], int]]:
        device = Device(on_backward=on_backward, saved=saved)
        use(device)
        stand_in.modules()["paddle"].seed(0)
        yield lambda: _ended(device)
        use(Device())

    def load(self, path: str) -> Any:
        return data.load(path)


def _ended(device: Device) -> int:
    waits = device.waits
    device.finish_writes()
    return waits


def _end_workers() -> None:
    """End the processes of loaders that a program has left: an interrupted one waits for the end of this process."""
    gc.collect()  # a loader that nothing holds ends its processes itself
    for child in multiprocessing.active_children():
        child.kill()
        child.join()


class Paddle:
    """Paddle itself, on the CPU; imported when it is asked for."""

    def __init__(self) -> None:
        import paddle

        paddle.set_device("cpu")
        self._paddle = paddle

    def modules(self) -> Mapping[str, ModuleType]:
        return {}

    @contextlib.contextmanager
    def running(self, on_backward: Callable[[], None], saved: Callable[[str], None]) -> Iterator[Callable[[], int]]:
        paddle = self._paddle
        paddle.seed(0)
        backward, save, async_save = paddle.Tensor.backward, paddle.save, paddle.async_save

        def counted(tensor: Any, *arguments: Any, **options: Any) -> Any:
            on_backward()
            return backward(tensor, *arguments, **options)

        def noted(write: Callable[..., Any]) -> Callable[..., Any]:
            def written(value: Any, path: str, *arguments: Any, **options: Any) -> Any:
                saved(path)
                return write(value, path, *arguments, **options)

            return written

        paddle.Tensor.backward, paddle.save, paddle.async_save = counted, noted(save), noted(async_save)
        try:
            yield self._ended
        finally:
            paddle.Tensor.backward, paddle.save, paddle.async_save = backward, save, async_save
            _end_workers()

    def _ended(self) -> int:
        self._paddle.clear_async_save_task_queue()
        return 0

    def load(self, path: str) -> Any:
        return self._paddle.load(path)
