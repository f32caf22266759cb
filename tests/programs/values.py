"""Values as plain text that can be compared: type, dtype, shape and every bit."""

from __future__ import annotations

from typing import Any

import numpy as np

Described = tuple[str, ...]
_DEEPEST = 6


def describe(value: Any, deep: int = 0) -> str:
    """A value in words: ``float 0.25``, ``Tensor float32 [] 0.5``, ``list [float 0.25]``; floats to the last bit."""
    name = type(value).__name__
    if value is None or isinstance(value, (bool, int, str)):
        return f"{name} {value!r}"
    if isinstance(value, float) and not isinstance(value, np.generic):
        return f"{name} {value!r}"
    if isinstance(value, (list, tuple)) and deep < _DEEPEST:
        return f"{name} [{', '.join(describe(item, deep + 1) for item in value)}]"
    if isinstance(value, dict) and deep < _DEEPEST:
        inside = ", ".join(f"{key!r}: {describe(item, deep + 1)}" for key, item in value.items())
        return f"{name} {{{inside}}}"
    if isinstance(value, (np.ndarray, np.generic)):
        return _array(name, np.asarray(value))
    if name in ("Tensor", "EagerParamBase") and hasattr(value, "numpy"):
        return f"{_array('Tensor', value.numpy())} stop_gradient={value.stop_gradient}"
    return name


def _array(name: str, array: Any) -> str:
    shape = "x".join(map(str, array.shape))
    return f"{name} {array.dtype} [{shape}] {' '.join(repr(item) for item in array.reshape(-1).tolist())}"
