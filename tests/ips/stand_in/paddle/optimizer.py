"""Optimizers that update one parameter after the other, as Paddle does, and not all of them in one kernel."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from .tensors import Tensor
from .unknown import refuse


class Optimizer:
    """What all have in common; ``inner`` is torch's."""

    def __init__(self, inner: torch.optim.Optimizer) -> None:
        self.inner = inner

    def step(self) -> None:
        """Update the parameters."""
        self.inner.step()

    def minimize(self, loss: Tensor) -> None:
        """Update the parameters; as with Paddle, ``loss.backward()`` has been called before."""
        self.inner.step()

    def clear_grad(self, set_to_zero: bool = True) -> None:
        """Write zeros into the gradients, which is Paddle's default, or let go of them."""
        self.inner.zero_grad(set_to_none=not set_to_zero)


class SGD(Optimizer):
    """Gradient descent."""

    def __init__(self, learning_rate: float = 0.001, parameters: Iterable[Tensor] = ()) -> None:
        super().__init__(torch.optim.SGD(parameters, learning_rate, foreach=False))


class Momentum(Optimizer):
    """Gradient descent with momentum."""

    def __init__(self, learning_rate: float = 0.001, momentum: float = 0.9, parameters: Iterable[Tensor] = ()) -> None:
        super().__init__(torch.optim.SGD(parameters, learning_rate, momentum, foreach=False))


def __getattr__(name: str) -> Any:
    refuse(__name__, name)
