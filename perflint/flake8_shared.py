"""What the flake8 plugin and the run behind it both need; like the plugin, it imports only what flake8 has imported."""

from __future__ import annotations

import multiprocessing
import os

PREFIX = "PPF"
STDIN = "-"
SHARED = "_PERFLINT_FLAKE8_RUN"
"""An environment variable with the first process of flake8 and the file with its findings, for those it starts."""

_WORDS = ("paddle", PREFIX)
"""Where none of them stands in a file of a project and nothing is configured, nothing is found."""


def is_worth_checking(text: str) -> bool:
    """Whether a text names Paddle, or a code of perflint in a comment that may be of no use."""
    return any(word in text for word in _WORDS)


def left_behind() -> str | None:
    """The file with what the process has found that flake8 has started this one from.

    Empty where there is nothing to find, None where there is no such process or it has left nothing.
    """
    parent = multiprocessing.parent_process()
    pid, _, path = os.environ.get(SHARED, "").partition(":")
    return path if parent is not None and pid == str(parent.pid) else None
