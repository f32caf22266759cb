"""What the flake8 plugin and ``flake8_run`` share. Like the plugin, it imports only what flake8 has imported."""

from __future__ import annotations

import multiprocessing
import os

PREFIX = "PPF"
STDIN = "-"
SHARED = "_PERFLINT_FLAKE8_RUN"
"""An environment variable that names the first process of flake8 and the file with its findings."""

_WORDS = ("paddle", PREFIX)
"""A project whose files contain none of these, and which has no configuration, has no findings."""


def is_worth_checking(text: str) -> bool:
    """Whether a text mentions Paddle, or a code of perflint in a comment, which may be an unused ``noqa``."""
    return any(word in text for word in _WORDS)


def left_behind() -> str | None:
    """The file with the findings of the process that has started this one.

    Empty if there is nothing to find; None if there is no such process or it has left no file.
    """
    parent = multiprocessing.parent_process()
    pid, _, path = os.environ.get(SHARED, "").partition(":")
    return path if parent is not None and pid == str(parent.pid) else None
