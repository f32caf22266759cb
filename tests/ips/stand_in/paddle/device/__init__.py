"""The device."""

from __future__ import annotations

from typing import Any

import torch

from ..place import ON_CARD
from ..unknown import refuse
from . import cuda

__all__ = ["cuda", "get_device", "synchronize"]


def get_device() -> str:
    """``gpu:0`` or ``cpu``."""
    return "gpu:0" if ON_CARD else "cpu"


def synchronize() -> None:
    """Wait for the card.  Paddle refuses it on the CPU; here there is nothing to wait for, so that scripts run."""
    if ON_CARD:
        torch.cuda.synchronize()


def __getattr__(name: str) -> Any:
    refuse(__name__, name)
