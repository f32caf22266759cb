"""perflint: find the lines of PaddlePaddle training code that cost ips, and show how to fix them.

Nothing heavy is imported here: editors and other linters import this package on every start.
"""

import os
import sys

__version__ = "0.1.0"

REPORT_TO = "https://github.com/perflint-paddle/perflint/issues"


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
