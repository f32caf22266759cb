"""Decides whether a file named by the user is Python, which is all that perflint reads.

A directory is searched for ``*.py``, but any file may be named: ``perflint check *`` names notebooks and YAML too.
Many of these would even parse (``workers: 4`` is an annotation in Python), and pass as clean.
"""

from __future__ import annotations

import ast
import re
import warnings
from pathlib import PurePath

from perflint.files import plain_files
from perflint.text.source import UnreadableSource, decode

SUFFIXES = (".py", ".pyi", ".pyw")
_NOTEBOOK = ".ipynb"
_RUN_BY_PYTHON = re.compile(rb"#!.*python")


def why_not_read(path: str) -> str:
    """Why perflint does not read a file as Python, and what to do; empty if it does.

    A file that cannot be opened is not judged: reading it will report what is wrong.

    Args:
        path: a file.
    """
    if path.lower().endswith(SUFFIXES):
        return ""
    try:
        data = plain_files.read(path)
    except OSError:
        return ""
    return why_not_python(path, data)


def why_not_python(path: str, data: bytes) -> str:
    """Why a file with this name and these bytes is not read as Python; empty if it is.

    Args:
        path: its name; only the end of it counts.
        data: its bytes.
    """
    suffix = PurePath(path).suffix.lower()
    if suffix in SUFFIXES or _RUN_BY_PYTHON.match(data) or (not suffix and _parses(data)):
        return ""
    if suffix == _NOTEBOOK:
        return "it is a notebook: write its code to a file (jupyter nbconvert --to script NOTEBOOK), and check that"
    return (
        "its name does not end in .py, and its first line does not name Python: to check it anyway, pipe it in "
        "(perflint check - < FILE)"
    )


def _parses(data: bytes) -> bool:
    try:
        text = decode("", data).text
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except (UnreadableSource, SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
