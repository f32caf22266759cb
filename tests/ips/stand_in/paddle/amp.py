"""Mixed precision of level O1: float16 on the card, and nothing at all on the CPU, as with Paddle's own default."""

from __future__ import annotations

from typing import Any

import torch

from .optimizer import Optimizer
from .place import ON_CARD
from .tensors import Tensor
from .unknown import refuse


def auto_cast(enable: bool = True) -> Any:
    """A context in which convolutions and products of matrices are done in float16."""
    return torch.autocast("cuda", torch.float16, enabled=enable and ON_CARD)


class GradScaler:
    """Scales the loss, so that small gradients survive float16; the numbers are Paddle's defaults."""

    def __init__(self, enable: bool = True) -> None:
        self._scaler = torch.amp.GradScaler(
            "cuda",
            init_scale=2.0**16,
            growth_factor=2.0,
            backoff_factor=0.5,
            growth_interval=2000,
            enabled=enable and ON_CARD,
        )

    def scale(self, var: Tensor) -> Tensor:
        """The loss, scaled."""
        return self._scaler.scale(var)

    def step(self, optimizer: Optimizer) -> None:
        """Step with the gradients as they are without the scale, unless one of them is not finite."""
        self._scaler.step(optimizer.inner)

    def update(self) -> None:
        """Adapt the scale."""
        self._scaler.update()

    def minimize(self, optimizer: Optimizer, scaled_loss: Tensor) -> None:
        """``step`` and ``update``; the gradients are there already."""
        self.step(optimizer)
        self.update()


def __getattr__(name: str) -> Any:
    refuse(__name__, name)
