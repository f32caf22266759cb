"""Wraps what reads, copies, waits, saves and logs, so that a tracer hears of it."""

from __future__ import annotations

import builtins
import functools
import logging
import sys
from collections.abc import Callable
from typing import Any

from .tracer import Tracer

READS = (
    "numpy",
    "item",
    "tolist",
    "__float__",
    "__int__",
    "__long__",
    "__bool__",
    "__nonzero__",
    "__index__",
    "__array__",
    "__format__",
    "__str__",
    "__repr__",
    "cpu",
    "gradient",
    "get_value",
    "__dlpack__",
)
"""Methods of a tensor that need its value on the host."""

SIZED = ("nonzero", "masked_select", "unique", "unique_consecutive")
"""Functions and methods whose result has a size that depends on the values: the host reads it."""

WAITS = ("synchronize", "empty_cache")

_LOG_METHODS = ("add_scalar", "add_scalars", "add_image", "add_histogram", "add_text", "add_figure")


def patch(paddle: Any, tracer: Tracer) -> None:
    """Wrap Paddle, ``print`` and ``logging``; what logs curves is wrapped once it is imported (``patch_later``)."""
    tensor = paddle.Tensor
    for name in READS:
        if hasattr(tensor, name):
            _wrap(tracer, tensor, name, "host read", f"Tensor.{name}")
    for name in SIZED:
        for owner, title in ((paddle, "paddle"), (paddle.tensor, "paddle"), (tensor, "Tensor")):
            if hasattr(owner, name):
                _wrap(tracer, owner, name, "sized by values", f"{title}.{name}")
    _where(tracer, paddle, tensor)
    _masks(tracer, paddle, tensor)
    _wrap(tracer, paddle, "to_tensor", "to_tensor", "paddle.to_tensor", direct=True, note=_made_of)
    for owner in (paddle, paddle.framework, paddle.framework.io):
        _wrap(tracer, owner, "save", "save", "paddle.save")
    _wrap(tracer, paddle.jit, "save", "save", "paddle.jit.save")
    for owner, title in ((paddle.device, "paddle.device"), (paddle.device.cuda, "paddle.device.cuda")):
        for name in WAITS:
            if hasattr(owner, name):
                _wrap(tracer, owner, name, "wait", f"{title}.{name}")
    _wrap(tracer, builtins, "print", "log", "print", direct=True)
    _wrap(tracer, logging.Logger, "_log", "log", "logging", skip=("logging.",))
    _layers(tracer, paddle.nn.Layer)
    _loaders(tracer, paddle.io.DataLoader)


def patch_curves(module: Any, tracer: Tracer) -> None:
    """Wrap the writers of curves of a module, such as ``visualdl.LogWriter``."""
    for owner in ("LogWriter", "SummaryWriter"):
        kind = getattr(module, owner, None)
        for name in _LOG_METHODS:
            if hasattr(kind, name):
                _wrap(tracer, kind, name, "log", f"{owner}.{name}")


def _wrap(
    tracer: Tracer,
    owner: Any,
    name: str,
    kind: str,
    what: str,
    direct: bool = False,
    note: Callable[..., str] | None = None,
    skip: tuple[str, ...] = (),
) -> None:
    function = getattr(owner, name)
    inside = tracer.inside

    @functools.wraps(function)
    def traced(*arguments: Any, **keywords: Any) -> Any:
        if getattr(inside, "deep", 0):
            return function(*arguments, **keywords)  # what a traced call does itself is that call's event
        tracer.event(kind, what, note(*arguments, **keywords) if note else "", direct)
        if kind == "log":
            return function(*arguments, **keywords)  # what it prints may be a tensor, whose read is an event of its own
        inside.deep = 1
        try:
            return function(*arguments, **keywords)
        finally:
            inside.deep = 0

    if not getattr(function, "_traced", False):
        traced._traced = True  # type: ignore[attr-defined]  # a function takes any attribute
        setattr(owner, name, traced)


def _made_of(data: Any = None, *_: Any, **__: Any) -> str:
    """What a tensor is made of: "a number", "an array of 12 values", ..."""
    if isinstance(data, (bool, int, float)):
        return "a number"
    size = getattr(data, "size", None)
    if isinstance(size, int):
        return "an array"
    return f"a {type(data).__name__}"


def _where(tracer: Tracer, paddle: Any, tensor: Any) -> None:
    """``paddle.where(condition)`` alone gives places, as many as there are."""
    function = paddle.where

    @functools.wraps(function)
    def where(condition: Any, x: Any = None, y: Any = None, *rest: Any, **keywords: Any) -> Any:
        if x is None and y is None and not getattr(tracer.inside, "deep", 0):
            tracer.event("sized by values", "paddle.where")
        return function(condition, x, y, *rest, **keywords)

    paddle.where = where
    tensor.where = where


def _masks(tracer: Tracer, paddle: Any, tensor: Any) -> None:
    """``x[mask]``, and ``x[mask] = value``."""

    def mask(item: Any) -> bool:
        parts = item if isinstance(item, tuple) else (item,)
        return any(isinstance(part, tensor) and part.dtype == paddle.bool for part in parts)

    get, put = tensor.__getitem__, tensor.__setitem__

    def __getitem__(self: Any, item: Any) -> Any:  # noqa: N807  # its name in Paddle
        if mask(item) and not getattr(tracer.inside, "deep", 0):
            tracer.event("sized by values", "Tensor[mask]")
        return get(self, item)

    def __setitem__(self: Any, item: Any, value: Any) -> Any:  # noqa: N807  # its name in Paddle
        if mask(item) and not getattr(tracer.inside, "deep", 0):
            tracer.event("sized by values", "Tensor[mask] = ...")
        return put(self, item, value)

    tensor.__getitem__, tensor.__setitem__ = __getitem__, __setitem__


def _layers(tracer: Tracer, layer: Any) -> None:
    def wrap(name: str) -> None:
        function = getattr(layer, name)

        @functools.wraps(function)
        def mode(self: Any, *arguments: Any, **keywords: Any) -> Any:
            result = function(self, *arguments, **keywords)
            tracer.modes(self, bool(self.training))
            return result

        setattr(layer, name, mode)

    wrap("train")
    wrap("eval")


def _loaders(tracer: Tracer, loader: Any) -> None:
    make, begin = loader.__init__, loader.__iter__

    @functools.wraps(make)
    def __init__(self: Any, *arguments: Any, **keywords: Any) -> None:  # noqa: N807  # its name in Paddle
        make(self, *arguments, **keywords)
        tracer.made_loader(self)

    @functools.wraps(begin)
    def __iter__(self: Any) -> Any:  # noqa: N807  # its name in Paddle
        iterator = begin(self)
        iterator._traced_loader = self
        return iterator

    loader.__init__, loader.__iter__ = __init__, __iter__


def when_imported(names: tuple[str, ...], then: Callable[[Any], None]) -> None:
    """Call ``then`` with each of these modules once the script has imported it."""
    waiting = set(names)
    load = builtins.__import__

    def imported(name: str, *arguments: Any, **keywords: Any) -> Any:
        module = load(name, *arguments, **keywords)
        for each in waiting & {name.partition(".")[0]}:
            found = sys.modules.get(each)
            if found is not None and hasattr(found, "LogWriter" if each == "visualdl" else "SummaryWriter"):
                waiting.discard(each)
                then(found)
        return module

    builtins.__import__ = imported
