"""What the tests cannot be imported without, said in a sentence where it is missing."""

from __future__ import annotations

import importlib.util

import pytest

PACKAGES = {"libcst": "libcst", "pyflakes": "pyflakes", "yaml": "pyyaml"}
"""Modules that perflint itself imports, and the packages that have them."""


def missing(packages: dict[str, str]) -> str:
    """What to install, "" where nothing is missing.

    Args:
        packages: the modules that are needed, with the names of their packages.
    """
    names = [package for module, package in packages.items() if importlib.util.find_spec(module) is None]
    return f"perflint needs {', '.join(names)} here: python -m pip install {' '.join(names)}" if names else ""


def check() -> None:
    """End the run where something is missing.

    Raises:
        pytest.exit.Exception: with the sentence that says what to install.
    """
    if why := missing(PACKAGES):
        pytest.exit(why, returncode=4)
