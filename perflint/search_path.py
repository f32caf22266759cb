"""Keeps Python from taking the modules of the directory that perflint checks for its own."""

from __future__ import annotations

import os
import sys


def leave_out_current_directory() -> None:
    """Take away the entry of ``sys.path`` that ``python -m`` begins it with: the current directory.

    Without this, ``python -m perflint`` would run an ``ast.py`` or ``paddle.py`` that stands among the files to check.
    It has to be called before anything else is imported; what Python itself imports for ``-m`` has run by then.
    """
    if sys.flags.isolated or getattr(sys.flags, "safe_path", False):  # it is not there then
        return
    try:
        here = os.getcwd()  # noqa: PTH109 - pathlib is no part of Python that has been imported yet
    except OSError:  # somebody has removed it
        return
    if sys.path and sys.path[0] in ("", here):
        del sys.path[0]
