"""Wraps parts of Paddle, to observe a training without changing the script or Paddle's files.

- ``DataLoader.__iter__`` and the ``__next__`` of what it returns: the time spent there, and the size of the batch;
- ``Tensor.backward``: the loss;
- ``Optimizer.step`` and ``minimize``, and those of ``GradScaler``: the end of a step;
- ``Executor.run`` of static graphs: each run of one that trains is a step.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from .recorder import Recorder

_HOOKED = ("io.DataLoader", "Tensor.backward", "optimizer.Optimizer", "amp.GradScaler")


def after_import(name: str, then: Callable[[Any], None]) -> None:
    """Call ``then`` with a package once the script has imported it: not earlier: it may set variables first."""
    sys.meta_path.insert(0, _AfterImport(name, then))


class _AfterImport(importlib.abc.MetaPathFinder):
    def __init__(self, name: str, then: Callable[[Any], None]) -> None:
        self.name, self.then = name, then

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
        if fullname != self.name:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path)
        if spec and spec.loader and hasattr(spec.loader, "exec_module"):
            execute = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                execute(module)
                self.then(module)

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]  # of this one loader
        return spec


def hook(paddle: Any, recorder: Recorder) -> None:
    """Wrap what the module's docstring names."""
    recorder.paddle = paddle
    recorder.hooked = [f"paddle.{name}" for name in _HOOKED]
    _hook_loader(paddle.io.DataLoader, recorder)
    _hook_backward(paddle.Tensor, recorder)
    _hook_optimizer(paddle.optimizer.Optimizer, recorder)
    _hook_scaler(paddle.amp.GradScaler, recorder)
    _hook_static(paddle, recorder)


def _hook_loader(loader: Any, recorder: Recorder) -> None:
    begin = loader.__iter__
    wrapped: set[type] = set()

    def iterate(self: Any) -> Any:
        iterator = recorder.read(begin, self)
        recorder.opened(iterator, self)
        if type(iterator) not in wrapped:
            wrapped.add(type(iterator))
            _hook_next(type(iterator), recorder)
        return iterator

    loader.__iter__ = iterate


def _hook_next(kind: Any, recorder: Recorder) -> None:
    following = kind.__next__

    def step(self: Any) -> Any:
        data = recorder.read(following, self)
        recorder.batch(data)
        return data

    kind.__next__ = step


def _hook_backward(tensor: Any, recorder: Recorder) -> None:
    backward = tensor.backward

    def record(self: Any, *arguments: Any, **keywords: Any) -> Any:
        recorder.backward(self)
        return backward(self, *arguments, **keywords)

    tensor.backward = record


def _hook_optimizer(base: Any, recorder: Recorder) -> None:
    def wrap(kind: Any) -> None:
        for name in ("step", "minimize"):
            if name in vars(kind):
                setattr(kind, name, _stepping(vars(kind)[name], recorder, owner=0))
        for each in kind.__subclasses__():
            wrap(each)

    def later(cls: Any, /, **keywords: Any) -> None:
        super(base, cls).__init_subclass__(**keywords)
        wrap(cls)

    wrap(base)
    base.__init_subclass__ = classmethod(later)


def _hook_scaler(kind: Any, recorder: Recorder) -> None:
    for name in ("step", "minimize"):
        setattr(kind, name, _stepping(getattr(kind, name), recorder, owner=1))


def _stepping(function: Any, recorder: Recorder, owner: int) -> Any:
    """A function that ends a step; ``owner`` is the position of the optimizer among its arguments."""

    def step(*arguments: Any, **keywords: Any) -> Any:
        optimizer = arguments[owner] if len(arguments) > owner else keywords.get("optimizer")
        return recorder.step(function, optimizer, arguments, keywords)

    return step


def _hook_static(paddle: Any, recorder: Recorder) -> None:
    """Wrap ``paddle.static.Executor.run``; a version of Paddle without it is left unchanged.

    Each run of a program that has gradients is a step. Such a program is built once, by ``minimize`` among others, and
    run at each step; the loss is one of the values that are fetched.
    """
    executor = getattr(getattr(paddle, "static", None), "Executor", None)
    if executor is None:
        return
    run = executor.run
    # each program with what stands for it if it trains; kept with it, so that no other program gets its id
    known: dict[int, tuple[Any, _Trained | None]] = {}

    def train(self: Any, program: Any, feed: Any, *arguments: Any, **keywords: Any) -> Any:
        values = run(self, program, feed, *arguments, **keywords)
        recorder.trained_on(_loss(values), feed)
        return values

    def record(self: Any, program: Any = None, feed: Any = None, *arguments: Any, **keywords: Any) -> Any:
        given = (self, program, feed, *arguments)
        which = paddle.static.default_main_program() if program is None else program
        if id(which) not in known:
            known[id(which)] = which, _Trained() if _has_gradients(which) else None
        trained = known[id(which)][1]
        return recorder.execute(train if trained else run, trained, given, keywords)

    executor.run = record
    recorder.hooked.append("paddle.static.Executor")


class _Trained:
    """A program that trains; with several, only the one that steps first counts, as with optimizers."""


def _has_gradients(program: Any) -> bool:
    """Whether one of its operations computes gradients, such as ``mul_grad`` or ``pd_op.matmul_grad``."""
    inner = getattr(program, "_program", None) or program  # a CompiledProgram has one
    try:
        names = [_name(operation) for operation in inner.global_block().ops]
    except AttributeError:
        return False
    return any(name.rstrip("_").endswith("_grad") for name in names)


def _name(operation: Any) -> str:
    name = getattr(operation, "type", None)  # a Program in Paddle 2
    return name if isinstance(name, str) else str(operation.name())  # a program in PIR, as in Paddle 3


def _loss(values: Any) -> Any:
    """The first fetched value that is an array of one number; None if there is none."""
    for value in values if isinstance(values, (list, tuple)) else ():
        if type(value).__module__ == "numpy" and value.size == 1:
            return value.reshape(-1)[0]
    return None
