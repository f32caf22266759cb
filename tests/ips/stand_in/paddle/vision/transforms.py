"""Nothing: augmenting photographs is Paddle's Python code, so no script that does it is measured with the stand-in."""

from __future__ import annotations

from typing import Any

from ..unknown import refuse


def __getattr__(name: str) -> Any:
    refuse(__name__, name)
