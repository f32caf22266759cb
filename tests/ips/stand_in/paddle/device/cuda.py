"""The card's memory and name."""

from __future__ import annotations

from typing import Any

import torch

from ..place import ON_CARD
from ..unknown import refuse


def empty_cache() -> None:
    """Give memory that is kept for later back to the card; nothing on the CPU, as with Paddle."""
    if ON_CARD:
        torch.cuda.empty_cache()


def max_memory_allocated() -> int:
    """Bytes."""
    return int(torch.cuda.max_memory_allocated())


def get_device_name() -> str:
    """What the maker calls the card."""
    return str(torch.cuda.get_device_name())


def __getattr__(name: str) -> Any:
    refuse(__name__, name)
