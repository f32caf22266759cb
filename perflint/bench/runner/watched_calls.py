"""Wraps parts of Paddle and of Python, to observe a training without changing the script or the files of Paddle.

What every measurement needs:

- ``DataLoader.__iter__`` and the ``__next__`` of what it returns: the time spent there, and the size of the batch;
- ``Tensor.backward``: the loss;
- ``Optimizer.step`` and ``minimize``, and those of ``GradScaler``: the end of a step;
- ``Executor.run`` of static graphs: each run of one that trains is a step.

Besides, functions that read, copy, wait, save or log, and for a profile all that a step consists of. Each call goes
through a `Watcher`, which knows which line of the project has made it. Functions that an old Paddle does not have are
skipped. `PHASE_OF` has the kinds of work of a step, and the phase of a step that each is counted in.
"""

from __future__ import annotations

import builtins
import functools
import gc
import importlib.abc
import importlib.machinery
import logging
import os
import sys
import time
from collections.abc import Callable, Iterable
from types import FrameType, ModuleType
from typing import Any, NamedTuple

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


PHASES = ("reader", "forward", "backward", "optimizer", "read", "copy", "save", "log", "other")
"""The phases of a step.  Each moment of a step belongs to one of them."""
READER, FORWARD, BACKWARD, OPTIMIZER, READ, COPY, SAVE, LOG, OTHER = PHASES
SIZED, WAIT, COLLECT, SLEEP, EVALUATE = "sized", "wait", "collect", "sleep", "evaluate"

PHASE_OF = {
    **{phase: phase for phase in PHASES},
    SIZED: READ,  # the size of the result depends on values, so the host has to read them
    WAIT: READ,
    COLLECT: OTHER,
    SLEEP: OTHER,
    EVALUATE: OTHER,
}
"""The phase that each kind is counted in."""


SIZED_CALLS = ("nonzero", "masked_select", "unique", "unique_consecutive")
"""Functions and methods whose result has a size that depends on values, so the host has to read them."""
WAITS = ("synchronize", "empty_cache")
_CURVES = ("add_scalar", "add_scalars", "add_image", "add_histogram", "add_text", "add_figure")
_WRITERS = {"visualdl": "LogWriter", "tensorboardX": "SummaryWriter"}
_GRADIENTS = ("clear_grad", "clear_gradients", "zero_grad")
_SCALER = ("unscale_", "update")
_SAVES = ("async_save", "static.save", "static.save_inference_model", "Model.save")
_PROGRESS = ("on_train_batch_end", "on_epoch_end")
"""Where the callback of ``Model.fit`` prints its line."""


class WatchedCall(NamedTuple):
    """What is known about a wrapped function before it is called.

    Attributes:
        kind: one of ``PHASE_OF``, such as "read".
        what: its name for people, such as ``Tensor.numpy``.
        direct: whether it counts only if the project itself calls it, with no library in between.
        note: makes a text with more information from the arguments, such as "a number".
        counts: whether a call with these arguments counts at all (None: all do).
    """

    kind: str
    what: str
    direct: bool = False
    note: Callable[..., str] | None = None
    counts: Callable[..., bool] | None = None


class Watcher(Recorder):
    """A recorder with a method ``around``, which every wrapped call goes through (see ``watched_calls``)."""

    def __init__(self, plan: dict[str, Any]) -> None:
        """Start with nothing seen; of the plan, ``copy`` is the directory of the project."""
        self.root = plan["copy"] + os.sep
        self.made: dict[int, Any] = {}
        self.evaluating = False
        self.trained: set[int] = set()
        self._optimizers: set[int] = set()
        super().__init__(plan)

    def around(self, call: WatchedCall, function: Any, arguments: Any, keywords: Any) -> Any:
        """Call a wrapped function, record it, and return its result."""
        raise NotImplementedError

    def through(self, call: WatchedCall, function: Any) -> Any:
        """A function whose calls go through ``around``."""

        @functools.wraps(function)
        def watched(*arguments: Any, **keywords: Any) -> Any:
            if call.counts is not None and not call.counts(*arguments, **keywords):
                return function(*arguments, **keywords)
            return self.around(call, function, arguments, keywords)

        return watched

    def frames(self, most: int) -> tuple[list[Any], str]:
        """The lines of the project that are running, and the library function that the innermost one has called.

        Args:
            most: how many lines to return.

        Returns:
            For each line its file, relative to the root of the project, and its number, innermost first; then the
            function, such as ``paddle.hapi.model.fit``, or "" if the line has called the wrapped function itself.
        """
        found: list[Any] = []
        via = ""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and len(found) < most:
            place = self.place_of(frame)
            if place is not None:
                found.append(place)
            elif (
                not found
                and "site-packages" in frame.f_code.co_filename
                and frame.f_globals.get("__package__") != __package__
            ):
                via = f"{frame.f_globals.get('__name__', '')}.{frame.f_code.co_name}"
            frame = frame.f_back
        return found, via

    def place_of(self, frame: FrameType) -> tuple[str, int] | None:
        """The file, relative to the root of the project, and the line that a frame is at; None outside the project.

        For some internal instructions Python has no line; then it is that of the head.
        """
        code = frame.f_code
        if not code.co_filename.startswith(self.root):  # not cached by code object: its hash reads all of it
            return None
        return code.co_filename[len(self.root) :].replace(os.sep, "/"), frame.f_lineno or code.co_firstlineno

    def made_loader(self, loader: Any) -> None:
        """Note that a loader was made, and where."""
        stack, _ = self.frames(1)
        if stack:
            self.made[id(loader)] = stack[0]

    def opened(self, iterator: Any, loader: Any) -> None:
        """Note that a loader has started, and which one it is."""
        iterator._watched_loader = loader
        super().opened(iterator, loader)

    def loader_of(self, owner: Any) -> tuple[Any, Any]:
        """The loader of an iterator, or the loader itself; and the place where it was made (("?", 0): not known)."""
        loader = getattr(owner, "_watched_loader", owner)
        return loader, self.made.get(id(loader), ("?", 0))

    def modes(self, layer: Any, training: bool) -> None:
        """``train()`` or ``eval()`` of a layer: for the trained model, it says whether this is evaluation."""
        if self.evaluating is not training or not self.is_here:
            return
        if self.trained & {id(each) for each in layer.parameters()}:
            self.evaluating = not training

    def _end(self, optimizer: Any) -> None:
        if id(optimizer) not in self._optimizers:
            self._optimizers.add(id(optimizer))
            self.trained |= {id(parameter) for parameter in _parameters(optimizer)}
        super()._end(optimizer)


def _parameters(optimizer: Any) -> list[Any]:
    """The parameters of an optimizer, including those of its groups."""
    found = getattr(optimizer, "_parameter_list", None) or []
    return [each for item in found for each in (item["params"] if isinstance(item, dict) else [item])]


def watch(paddle: Any, watcher: Watcher, reads: Iterable[str]) -> None:
    """Wrap Paddle, ``print`` and ``logging``; ``reads`` are the methods of tensors that need the value on the host."""
    tensor = paddle.Tensor
    for name in reads:
        wrap(watcher, tensor, name, WatchedCall(READ, f"Tensor.{name}"))
    for name in SIZED_CALLS:
        for owner, title in ((paddle, "paddle"), (named(paddle, "tensor"), "paddle"), (tensor, "Tensor")):
            wrap(watcher, owner, name, WatchedCall(SIZED, f"{title}.{name}"))

    def has_places(condition: Any, x: Any = None, y: Any = None, *_: Any, **__: Any) -> bool:
        return x is None and y is None  # paddle.where(condition) alone returns the places, as many as there are

    for owner in (paddle, tensor):
        wrap(watcher, owner, "where", WatchedCall(SIZED, "paddle.where", counts=has_places))

    def has_mask(self: Any, item: Any, *_: Any) -> bool:
        parts = item if isinstance(item, tuple) else (item,)
        return any(isinstance(part, tensor) and part.dtype == paddle.bool for part in parts)

    wrap(watcher, tensor, "__getitem__", WatchedCall(SIZED, "Tensor[mask]", counts=has_mask))
    wrap(watcher, tensor, "__setitem__", WatchedCall(SIZED, "Tensor[mask] = ...", counts=has_mask))
    wrap(watcher, paddle, "to_tensor", WatchedCall(COPY, "paddle.to_tensor", direct=True, note=_made_of))
    for place in ("", "framework", "framework.io"):
        wrap(watcher, named(paddle, place), "save", WatchedCall(SAVE, "paddle.save"))
    wrap(watcher, named(paddle, "jit"), "save", WatchedCall(SAVE, "paddle.jit.save"))
    for place in ("device", "device.cuda"):
        for name in WAITS:
            wrap(watcher, named(paddle, place), name, WatchedCall(WAIT, f"paddle.{place}.{name}"))
    wrap(watcher, builtins, "print", WatchedCall(LOG, "print", direct=True))
    wrap(watcher, logging.Logger, "_log", WatchedCall(LOG, "logging"))
    layer = named(paddle, "nn.Layer")
    for name in ("train", "eval"):
        _mode(watcher, layer, name)
    _loaders(watcher, paddle.io.DataLoader)


def watch_curves(watcher: Watcher) -> None:
    """Wrap the writers of curves, such as ``visualdl.LogWriter``, once they are imported."""

    def imported(module: Any) -> None:
        title = _WRITERS[module.__name__]
        for name in _CURVES:
            wrap(watcher, getattr(module, title, None), name, WatchedCall(LOG, f"{title}.{name}"))

    for package in _WRITERS:
        after_import(package, imported)


def named(owner: Any, path: str) -> Any:
    """``named(paddle, "device.cuda")``; None if it does not exist."""
    for name in filter(None, path.split(".")):
        owner = getattr(owner, name, None)
    return owner


def wrap(watcher: Watcher, owner: Any, name: str, call: WatchedCall) -> None:
    """Make the calls of a function go through the watcher, if it exists and is not wrapped already.

    Args:
        watcher: its ``around`` is called for each call.
        owner: a module or a class.
        name: the name of the function or method in it.
        call: the description passed to the watcher.
    """
    function = getattr(owner, name, None)
    if function is not None and not getattr(function, "_watched", False):
        setattr(owner, name, watcher.through(call, function))
        getattr(owner, name)._watched = True


def _made_of(data: Any = None, *_: Any, **__: Any) -> str:
    """What a tensor is made of: "a number", "an array", "a list"."""
    if isinstance(data, (bool, int, float)):
        return "a number"
    size = getattr(data, "size", None)
    if isinstance(size, int):
        return "an array"
    return f"a {type(data).__name__}"


def _mode(watcher: Watcher, layer: Any, name: str) -> None:
    function = getattr(layer, name, None)
    if function is None:
        return

    @functools.wraps(function)
    def mode(self: Any, *arguments: Any, **keywords: Any) -> Any:
        result = function(self, *arguments, **keywords)
        watcher.modes(self, bool(self.training))
        return result

    setattr(layer, name, mode)


def _loaders(watcher: Watcher, loader: Any) -> None:
    make = loader.__init__

    @functools.wraps(make)
    def __init__(self: Any, *arguments: Any, **keywords: Any) -> None:  # noqa: N807  # its name in Paddle
        make(self, *arguments, **keywords)
        watcher.made_loader(self)

    loader.__init__ = __init__


def watch_pauses(watcher: Watcher) -> None:
    """Wrap functions outside Paddle that pause a program; call this before the script imports them by name."""
    wrap(watcher, time, "sleep", WatchedCall(SLEEP, "time.sleep"))
    wrap(watcher, gc, "collect", WatchedCall(COLLECT, "gc.collect"))
    watch_curves(watcher)


def watch_steps(paddle: Any, watcher: Watcher, reads: Iterable[str]) -> None:
    """Wrap everything that a step consists of; call this after `hook`, which recognizes the end of a step."""
    watch(paddle, watcher, reads)
    wrap(watcher, named(paddle, "nn.Layer"), "__call__", WatchedCall(FORWARD, "forward", note=_layer))
    wrap(watcher, paddle.Tensor, "backward", WatchedCall(BACKWARD, "Tensor.backward"))
    wrap(watcher, paddle, "grad", WatchedCall(BACKWARD, "paddle.grad"))
    wrap(watcher, named(paddle, "autograd"), "backward", WatchedCall(BACKWARD, "paddle.autograd.backward"))
    for name in _GRADIENTS:
        for kind in _with_subclasses(paddle.optimizer.Optimizer):
            wrap(watcher, kind, name, WatchedCall(OPTIMIZER, f"optimizer.{name}"))
    for name in _SCALER:
        wrap(watcher, paddle.amp.GradScaler, name, WatchedCall(OPTIMIZER, f"GradScaler.{name}"))
    for path in _SAVES:
        place, _, name = path.rpartition(".")
        wrap(watcher, named(paddle, place), name, WatchedCall(SAVE, f"paddle.{path}"))
    for name in _PROGRESS:
        wrap(watcher, named(paddle, "callbacks.ProgBarLogger"), name, WatchedCall(LOG, "ProgBarLogger"))


def _layer(layer: Any, *_: Any, **__: Any) -> str:
    return type(layer).__name__


def _with_subclasses(kind: Any) -> list[Any]:
    return [kind, *(each for below in kind.__subclasses__() for each in _with_subclasses(below))]
