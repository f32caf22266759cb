"""The checks: one file a subject, plain functions that the walk calls by node type."""

from __future__ import annotations

from functools import cache


@cache
def load_checks() -> None:
    """Import every check module, which registers its functions."""
    from perflint.checks import (  # noqa: F401 - LibCST is imported only when something is to be checked
        alignment,
        call_argument,
        checkpoint,
        host_read,
        step_log,
    )
