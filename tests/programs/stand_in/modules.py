"""The stand-in as the modules that a program imports."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, wraps
from types import ModuleType
from typing import Any

import numpy as np

from tests.programs.stand_in import data, networks, tensors
from tests.programs.stand_in.device import current
from tests.programs.stand_in.tensors import Grad, Tensor, made


class _Module(ModuleType):
    def __init__(self, name: str, **contents: Any) -> None:
        super().__init__(name)
        vars(self).update(contents)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(f"{self.__name__}.{name} is not in the stand-in for Paddle")


class _NoGrad:
    """A context, and a decorator with or without parentheses."""

    def __new__(cls, function: Callable[..., Any] | None = None) -> Any:
        made_here = super().__new__(cls)
        return made_here if function is None else made_here(function)

    def __enter__(self) -> None:
        self.before = Grad.enabled
        Grad.enabled = False

    def __exit__(self, *_: object) -> None:
        Grad.enabled = self.before

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def called(*arguments: Any, **options: Any) -> Any:
            with _NoGrad():
                return function(*arguments, **options)

        return called


@contextmanager
def _auto_cast(enable: bool = True, **_: Any) -> Iterator[None]:
    yield


class _Scaler:
    """A GradScaler that scales by 1."""

    def __init__(self, init_loss_scaling: float = 1.0) -> None:
        pass

    def scale(self, loss: Tensor) -> Tensor:
        return loss

    def step(self, optimizer: networks.Optimizer) -> None:
        optimizer.step()

    def update(self) -> None:
        return None


class _DataParallel:
    """With one process there is nothing to wrap a model in, so that it stays what it is."""

    def __new__(cls, layers: Any, **_: Any) -> Any:
        return layers


def _seed(number: int) -> None:
    networks.Chance.numbers = np.random.RandomState(number)


def _full(shape: Any, value: float, dtype: Any = None) -> Tensor:
    kind = dtype or ("bool" if isinstance(value, bool) else "float32")
    return made(np.full(shape, value, tensors.name_of(kind).name))


def _synchronize() -> None:
    raise TypeError("device should be gpu, xpu, ")


def _rand(shape: Any) -> Tensor:
    return made(networks.Chance.numbers.random_sample(shape).astype("float32"))


def _nothing() -> None:
    return None


@cache
def modules() -> dict[str, ModuleType]:
    """The modules by their names, ``paddle`` first; each is an attribute of the one above it."""
    functional = {"mse_loss": networks.mse_loss, "cross_entropy": networks.cross_entropy, "relu": networks.relu}
    layers = (networks.Layer, networks.Linear, networks.ReLU, networks.Sequential, networks.MSELoss)
    optimizers = (networks.SGD, networks.Momentum, networks.Optimizer)
    found: dict[str, dict[str, Any]] = {
        "paddle": {
            "Tensor": Tensor,
            "DataParallel": _DataParallel,
            "to_tensor": tensors.tensor_of,
            "full": _full,
            "zeros": lambda shape, dtype="float32": _full(shape, 0, dtype),
            "ones": lambda shape, dtype="float32": _full(shape, 1, dtype),
            "rand": _rand,
            "seed": _seed,
            "no_grad": _NoGrad,
            "save": data.save,
            "load": data.load,
            "async_save": data.async_save,
            "clear_async_save_task_queue": data.clear_async_save_task_queue,
            "is_compiled_with_cuda": lambda: False,
            "isnan": Tensor.isnan,
            "mean": Tensor.mean,
            "sum": Tensor.sum,
            "float32": tensors.FLOAT32,
            "float64": tensors.DType("float64"),
            "int64": tensors.DType("int64"),
            "set_device": lambda name: None,
            "get_flags": lambda names: {name: current().flags.get(name) for name in names},
            "is_grad_enabled": lambda: Grad.enabled,
        },
        "paddle.nn": {layer.__name__: layer for layer in (*layers, networks.CrossEntropyLoss)},
        "paddle.nn.functional": functional,
        "paddle.optimizer": {optimizer.__name__: optimizer for optimizer in optimizers},
        "paddle.optimizer.lr": {"StepDecay": networks.LRScheduler},
        "paddle.io": {"DataLoader": data.DataLoader, "Dataset": data.Dataset},
        "paddle.metric": {"Accuracy": data.Accuracy},
        "paddle.device": {"synchronize": _synchronize},
        "paddle.device.cuda": {"empty_cache": _nothing, "synchronize": _synchronize},
        "paddle.amp": {"auto_cast": _auto_cast, "GradScaler": _Scaler},
        "paddle.distributed": {
            "get_rank": lambda: 0,
            "get_world_size": lambda: 1,
            "init_parallel_env": _nothing,
        },
    }
    made_here = {name: _Module(name, **contents) for name, contents in found.items()}
    for name, module in made_here.items():
        above, _, own = name.rpartition(".")
        if above:
            setattr(made_here[above], own, module)
    return dict(made_here)
