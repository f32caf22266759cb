"""What the requirements of a project say of Paddle: those of pip, setuptools, Poetry and conda next to its files."""

from __future__ import annotations

from perflint.inputs.input_files import InputKind, Inputs
from perflint.inputs.paddle_versions import Admitted, Version, oldest, stated

_Rows = tuple[tuple[int, Version, bool], ...]
"""The rows of a file that require some Paddle, as ``paddle_versions.stated`` gives them."""


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
    """The oldest Paddle that the requirements of a file's directory admit, or else those of the nearest one above."""
    files = next(inputs.around(REQUIREMENTS, path), ())
    return oldest(Admitted(version, file.path, row, excluded) for file in files for row, version, excluded in file.said)
