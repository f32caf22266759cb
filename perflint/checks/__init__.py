"""The checks: one file a subject, plain functions that the walk calls by node type."""

from __future__ import annotations

from functools import cache


@cache
def load_checks() -> None:
    """Import every check module, which registers its functions."""
    from perflint.checks import (  # noqa: F401 - imported to register, and here since LibCST comes with them
        alignment,
        call_argument,
        checkpoint,
        declared_calls,
        dynamic_shape,
        every_rank,
        forward_read,
        graph_growth,
        host_read,
        loader_rebuilt,
        loader_workers,
        metric,
        no_grad,
        round_trip,
        step_call,
        step_log,
        to_tensor,
        truthiness,
        unused_parameters,
    )
