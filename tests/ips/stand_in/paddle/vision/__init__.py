"""Only there to be imported."""

from __future__ import annotations

from typing import Any

from ..unknown import refuse
from . import transforms

__all__ = ["transforms"]


def __getattr__(name: str) -> Any:
    refuse(__name__, name)
