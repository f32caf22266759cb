"""Finds the line length of a project in the settings of its formatter or linter.

For example, ``[tool.black]`` with ``line-length = 100`` in ``pyproject.toml`` gives 100; without that key it is 88. It
reads ``pyproject.toml`` (black, Ruff), ``ruff.toml``, ``.flake8``, ``setup.cfg``, ``tox.ini``, ``.style.yapf`` and
``.editorconfig`` in a directory and those above it, up to the top of the repository.
"""

from __future__ import annotations

import configparser
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from perflint.configuration import toml_text
from perflint.files import plain_files

_MOST_BYTES = 1_000_000
_BLACK = 88
_LEAST, _MOST = 40, 1_000
"""Other numbers are not line lengths: 0 and -1 mean "any"."""

_INI = (
    ("flake8", "max-line-length"),
    ("flake8", "max_line_length"),
    ("pycodestyle", "max-line-length"),
    ("pycodestyle", "max_line_length"),
    ("pep8", "max-line-length"),
    ("yapf", "column_limit"),
    ("style", "column_limit"),
)
_BLANKS = re.compile(r"(?<=\S)\s{2,}")
_PYTHON = re.compile(r"(?:^|[.,{*])py(?:$|[,}])")


def of_project(start: Path) -> tuple[int, str] | None:
    """The line length, and the file that sets it; None if no file does.

    Args:
        start: a directory of the project.
    """
    for directory in (start, *start.parents):
        for name, read in _READERS.items():
            length = _length(read, directory / name)
            if length is not None:
                return length, str(directory / name)
        if (directory / ".git").exists():
            break
    return None


def _length(read: Callable[[str], int | None], path: Path) -> int | None:
    """The length in one file; None if the file is unreadable or broken."""
    try:
        length = read(plain_files.read(path, _MOST_BYTES).decode("utf-8", "replace").removeprefix("\ufeff"))
    except (OSError, ValueError, configparser.Error, AttributeError):
        # AttributeError: configparser raises it at a row that continues below a key without a value.
        return None
    return length if length is not None and _LEAST <= length <= _MOST else None


def _pyproject(text: str) -> int | None:
    tool = toml_text.parse(text).get("tool")
    if not isinstance(tool, Mapping):
        return None
    black, ruff = tool.get("black"), tool.get("ruff")
    if isinstance(black, Mapping):
        return _number(black.get("line-length", black.get("line_length", _BLACK)))
    return _number(ruff.get("line-length", _BLACK)) if isinstance(ruff, Mapping) else None


def _ruff(text: str) -> int | None:
    return _number(toml_text.parse(text).get("line-length", _BLACK))


def _ini(text: str) -> int | None:
    parser = _parsed(text)
    found = (parser.get(section, key, fallback=None) for section, key in _INI)
    return next((_number(value) for value in found if value is not None), None)


def _editorconfig(text: str) -> int | None:
    """The length for Python files: from the last section that applies to them and sets one."""
    parser = _parsed(f"[top]\n{text}")
    lengths = [
        _number(parser.get(section, "max_line_length", fallback=None))
        for section in parser.sections()
        if section == "*" or _PYTHON.search(section)
    ]
    return next((length for length in reversed(lengths) if length is not None), None)


def _parsed(text: str) -> configparser.RawConfigParser:
    parser = configparser.RawConfigParser(strict=False, allow_no_value=True)
    # The time that configparser takes for a row grows with the square of its number of spaces.
    parser.read_string("\n".join(_BLANKS.sub(" ", line) for line in text.split("\n")))
    return parser


def _number(value: Any) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    text = value.strip() if isinstance(value, str) else ""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 6 else None


_READERS: Mapping[str, Callable[[str], int | None]] = {
    "pyproject.toml": _pyproject,
    "ruff.toml": _ruff,
    ".ruff.toml": _ruff,
    ".flake8": _ini,
    "setup.cfg": _ini,
    "tox.ini": _ini,
    ".style.yapf": _ini,
    ".editorconfig": _editorconfig,
}
