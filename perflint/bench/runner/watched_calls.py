"""Wraps functions that read, copy, wait, save or log, and for a profile all that a step consists of.

Each call goes through a `Watcher`, which knows which line of the project has made it. Functions that an old Paddle does
not have are skipped.

`PHASE_OF` has the kinds of work that a step consists of, and the phase of a step that each is counted in.
"""

from __future__ import annotations

import builtins
import functools
import gc
import logging
import os
import sys
import time
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any, NamedTuple

from .hooks import after_import
from .recorder import Recorder

READER = "reader"
FORWARD = "forward"
BACKWARD = "backward"
OPTIMIZER = "optimizer"
READ = "read"
SIZED = "sized"
WAIT = "wait"
COPY = "copy"
SAVE = "save"
LOG = "log"
COLLECT = "collect"
SLEEP = "sleep"
EVALUATE = "evaluate"
OTHER = "other"

PHASES = (READER, FORWARD, BACKWARD, OPTIMIZER, READ, COPY, SAVE, LOG, OTHER)
"""The phases of a step.  Each moment of a step belongs to one of them."""

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
    """Wrap everything that a step consists of; call this after ``hooks.hook``, which recognizes the end of a step."""
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
