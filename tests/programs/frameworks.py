"""Paddle and its stand-in, ready to run a program with."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any

from perflint.bench.runner import recorder
from tests.programs import stand_in
from tests.programs.stand_in import data
from tests.programs.stand_in.device import Device, current, use


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

    def imported(self) -> None:
        current().flags = flags()

    def load(self, path: str) -> Any:
        return data.load(path)


def flags() -> dict[str, str]:
    """The flags of Paddle that the environment sets."""
    return {name: value for name, value in os.environ.items() if name.startswith("FLAGS_")}


def _ended(device: Device) -> int:
    waits = device.waits
    device.finish_writes()
    return waits


class Paddle:
    """Paddle itself, on the CPU; imported when it is asked for."""

    def __init__(self) -> None:
        import paddle

        paddle.set_device("cpu")
        self._paddle = paddle
        self._flags: dict[str, str] = {}

    def modules(self) -> Mapping[str, ModuleType]:
        return {}

    @contextlib.contextmanager
    def running(self, on_backward: Callable[[], None], saved: Callable[[str], None]) -> Iterator[Callable[[], int]]:
        paddle = self._paddle
        paddle.seed(0)
        backward, save, async_save = paddle.Tensor.backward, paddle.save, paddle.async_save
        get_flags = paddle.get_flags

        def counted(tensor: Any, *arguments: Any, **options: Any) -> Any:
            on_backward()
            return backward(tensor, *arguments, **options)

        def noted(write: Callable[..., Any]) -> Callable[..., Any]:
            def written(value: Any, path: str, *arguments: Any, **options: Any) -> Any:
                saved(path)
                return write(value, path, *arguments, **options)

            return written

        loader, made = paddle.io.DataLoader, []
        begin = loader.__iter__

        def begun(data: Any) -> Any:
            made.append(begin(data))
            return made[-1]

        paddle.Tensor.backward, paddle.save, paddle.async_save = counted, noted(save), noted(async_save)
        loader.__iter__ = begun
        paddle.get_flags = lambda names: self._found(names, get_flags)
        try:
            yield self._ended
        finally:
            paddle.Tensor.backward, paddle.save, paddle.async_save = backward, save, async_save
            loader.__iter__, paddle.get_flags = begin, get_flags
            for item in made:  # a loop that was left early keeps the processes of its loader until this one ends
                recorder.end_workers(item)

    def imported(self) -> None:
        self._flags = flags()

    def _found(self, names: list[str] | str, get_flags: Callable[[list[str]], dict[str, Any]]) -> dict[str, Any]:
        """Flags as they would be if Paddle had been imported when the program first did so."""
        wanted = [names] if isinstance(names, str) else names
        others = [name for name in wanted if name not in self._flags]
        return {name: self._flags.get(name) for name in wanted} | (get_flags(others) if others else {})

    def _ended(self) -> int:
        self._paddle.clear_async_save_task_queue()
        return 0

    def load(self, path: str) -> Any:
        return self._paddle.load(path)
