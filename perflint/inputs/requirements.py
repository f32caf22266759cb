"""Reads what the requirements of a project (pip, setuptools, Poetry, conda) say about Paddle."""

from __future__ import annotations

from perflint.inputs.input_files import InputKind, Inputs
from perflint.inputs.paddle_versions import Admitted, Version, oldest, stated

_Rows = tuple[tuple[int, Version, bool], ...]
"""The rows of a file that require some Paddle, as returned by ``paddle_versions.stated``."""


def _read(name: str, data: bytes) -> _Rows | None:
    return tuple(stated(name, data.decode("utf-8", "replace"))) or None


REQUIREMENTS = InputKind(
    "requirements",
    (
        *("*requirement*.txt", "*requirement*.in", "requirements/*.txt"),
        *("setup.cfg", "setup.py", "pyproject.toml"),
        *("environment*.yml", "environment*.yaml", "conda*.yml", "conda*.yaml"),
    ),
    _read,
)


def nearest(path: str, inputs: Inputs) -> Admitted | None:
    """The oldest Paddle that the requirements in a file's directory, or the nearest one above with any, accept."""
    files = next(inputs.around(REQUIREMENTS, path), ())
    return oldest(Admitted(version, file.path, row, excluded) for file in files for row, version, excluded in file.said)
