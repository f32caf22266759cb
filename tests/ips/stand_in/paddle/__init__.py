"""A stand-in for Paddle: what the scripts of the suite ask of it, done by PyTorch.  It is no Paddle.

It is for cards that no build of Paddle has code for: when the host waits for the card, how the card takes to a layer's
width, and what a copy costs is the card's doing, whichever framework asks.  What it does not know it refuses, and
``tests/test_ips_stand_in.py`` compares its losses with those of Paddle.
"""

from __future__ import annotations

from typing import Any

import torch

from . import amp, device, io, nn, optimizer, vision
from .tensors import Tensor, full, masked_select, no_grad, seed, to_tensor, where, zeros_like
from .unknown import refuse

__all__ = [
    "Tensor",
    "amp",
    "device",
    "full",
    "io",
    "masked_select",
    "nn",
    "no_grad",
    "optimizer",
    "seed",
    "to_tensor",
    "vision",
    "where",
    "zeros_like",
]

__version__ = f"stand-in on torch {torch.__version__}"
"""Written so that no report passes for a measurement of Paddle."""


def __getattr__(name: str) -> Any:
    refuse(__name__, name)
