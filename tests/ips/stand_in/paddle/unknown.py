"""What is said about a call that the stand-in does not know."""

from __future__ import annotations

from typing import NoReturn


def refuse(module: str, name: str) -> NoReturn:
    """For the ``__getattr__`` of each module.

    Raises:
        AttributeError: always; it is the error that ``from module import name`` and ``hasattr`` expect.
    """
    raise AttributeError(
        f"{module}.{name} is not in the stand-in for Paddle, which has what the measured scripts use: "
        f"add it to tests/ips/stand_in/, or run the script with Paddle"
    )
