"""Tensors, and what makes them.

``paddle.Tensor`` is ``torch.Tensor`` itself, with the methods that it lacks put onto it.  A subclass would send every
operation through Python once more, and a slower host hides what a wait for the card costs; a wrapper even more so.
The price is that a method of torch which Paddle has under the same name with another meaning is not refused: that the
scripts do the same with both is what the comparison of losses is for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy.typing as npt
import torch
from torch import Tensor, no_grad

from .place import DEVICE

__all__ = ["Tensor", "full", "masked_select", "no_grad", "seed", "to_tensor", "where", "zeros_like"]

_numpy = Tensor.numpy


def _array(self: Tensor) -> npt.NDArray[Any]:
    """``Tensor.numpy``: a copy on the host, also of a tensor with a gradient; waits for the card."""
    values = self.detach()
    array: npt.NDArray[Any] = _numpy(values.cpu() if values.is_cuda else values.clone())
    return array


def _as_type(self: Tensor, dtype: str | torch.dtype) -> Tensor:
    """``Tensor.astype``."""
    return self.to(getattr(torch, dtype) if isinstance(dtype, str) else dtype)


Tensor.numpy = _array
Tensor.astype = _as_type


def to_tensor(data: npt.NDArray[Any] | float) -> Tensor:
    """A copy on the device; the host waits for it, as Paddle does for memory that is not pinned."""
    return torch.tensor(data, device=DEVICE)


def full(shape: Sequence[int], fill_value: float) -> Tensor:
    """One number everywhere, written by the device."""
    return torch.full(tuple(shape), float(fill_value), dtype=torch.float32, device=DEVICE)


def where(condition: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """``x`` where the condition holds, else ``y``."""
    return torch.where(condition, x, y)


def zeros_like(x: Tensor) -> Tensor:
    """Zeros of the shape and the type of ``x``."""
    return torch.zeros_like(x)


def masked_select(x: Tensor, mask: Tensor) -> Tensor:
    """The values under a mask; the host waits for their number."""
    return torch.masked_select(x, mask)


def seed(value: int) -> None:
    """Seed the generators of all devices."""
    torch.manual_seed(value)
