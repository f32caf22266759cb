"""Counts the calls of any function by its dotted name, and the bytes that it gives."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from .hooks import Counting, bytes_of

_OF_SCRIPT = "script:"


@contextmanager
def counted(names: Mapping[str, str], script: ModuleType, counting: Counting) -> Iterator[None]:
    """Count calls while this is on, and the bytes of the tensors that they give.

    Args:
        names: the figure for each dotted name: ``{"time.sleep": "pauses"}``; ``script:Points.__getitem__`` is a method
            that the script itself holds. Bytes are counted as ``bytes of pauses``.
        script: the module that a script was loaded as.
        counting: where the calls are counted.
    """
    owners = [_owner(name, script) for name in names]
    kept = [(owner, last, getattr(owner, last)) for owner, last in owners]
    for figure, (owner, last, function) in zip(names.values(), kept, strict=True):
        setattr(owner, last, _counting(function, figure, counting))
    try:
        yield
    finally:
        for owner, last, function in kept:
            setattr(owner, last, function)


def _counting(function: Any, figure: str, counting: Counting) -> Any:
    @functools.wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        counting.add(figure)
        result = function(*arguments, **keywords)
        if hasattr(result, "element_size"):
            counting.add(f"bytes of {figure}", bytes_of(result))
        return result

    return call


def _owner(name: str, script: ModuleType) -> tuple[Any, str]:
    """What holds the function of a dotted name, and its last part."""
    *parts, last = name.removeprefix(_OF_SCRIPT).split(".")
    if name.startswith(_OF_SCRIPT):
        return functools.reduce(getattr, parts, script), last
    for length in range(len(parts), 0, -1):
        try:
            module: Any = importlib.import_module(".".join(parts[:length]))
        except ImportError:
            continue
        return functools.reduce(getattr, parts[length:], module), last
    raise ValueError(f"{name}: there is no such module")
