"""Keeps Python from importing modules from the directory that perflint checks."""

from __future__ import annotations

import os
import sys


def leave_out_current_directory() -> None:
    """Remove the current directory, which ``python -m`` puts at the start of ``sys.path``.

    Without this, ``python -m perflint`` would run an ``ast.py`` or ``paddle.py`` found among the files to check. Call
    it before anything else is imported; what Python itself imports for ``-m`` has been imported by then.
    """
    if sys.flags.isolated or getattr(sys.flags, "safe_path", False):  # the directory may not exist
        return
    try:
        here = os.getcwd()  # noqa: PTH109 - pathlib is no part of Python that has been imported yet
    except OSError:  # somebody has removed the entry
        return
    if sys.path and sys.path[0] in ("", here):
        del sys.path[0]
