"""Tools that some tests need and that pip does not install."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

NODE_MODULES = Path(os.environ.get("PERFLINT_NODE_MODULES") or Path.home() / ".cache/perflint-tests/node_modules")


def npm_package(name: str) -> Path:
    """The directory of an npm package; without it the test is skipped, or fails where all tools have to be there.

    ``npm install --prefix ~/.cache/perflint-tests NAME`` installs it; ``PERFLINT_NODE_MODULES`` names another place.
    """
    package = NODE_MODULES / name
    if not package.is_dir():
        missing(f"the npm package {name} is not in {NODE_MODULES}")
    return package


def program(name: str) -> str:
    """The path of a program; without it the test is skipped, or fails where all tools have to be there."""
    found = shutil.which(name)
    if found is None:
        missing(f"{name} is not installed")
    assert found is not None
    return found


def missing(what: str, details: str = "") -> None:
    """Skip the test, or fail it where ``PERFLINT_NEEDS_TOOLS=1`` (as in CI) says that all tools are installed.

    Args:
        what: what the test lacks.
        details: what went wrong when it was asked for.
    """
    if os.environ.get("PERFLINT_NEEDS_TOOLS") == "1":
        pytest.fail(f"{what}: {details}" if details else what)
    pytest.skip(what)
