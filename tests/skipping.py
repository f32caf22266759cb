"""Tests that need what is not everywhere: skipped where it is missing, but not in CI."""

from __future__ import annotations

import os

import pytest

VARIABLE = "PERFLINT_NEEDS_TOOLS"


def missing(what: str, details: str = "") -> None:
    """Skip the test, or fail it where ``PERFLINT_NEEDS_TOOLS`` is 1 (as in CI).

    Args:
        what: what the test needs.
        details: what went wrong when it was asked for.
    """
    if os.environ.get(VARIABLE) == "1":
        pytest.fail(f"{what} is missing: {details}")
    pytest.skip(f"needs {what}")
