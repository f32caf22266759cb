"""The checks: one file a subject, plain functions that the walk calls by node type."""

from __future__ import annotations

from functools import cache
from importlib import import_module

_MODULES = (
    "alignment",
    "call_argument",
    "declared_calls",
    "checkpoint",
    "dynamic_shape",
    "every_rank",
    "graph_growth",
    "metric",
    "slice_read",
    "host_read",
    "forward_read",
    "loader_rebuilt",
    "loader_workers",
    "no_grad",
    "round_trip",
    "step_call",
    "step_log",
    "to_tensor",
    "truthiness",
    "unused_parameters",
)
"""The modules with checks.  Where two of them could report the same place, the one that comes first does."""


@cache
def load_checks() -> None:
    """Import every check module, which registers its functions; only now, since LibCST comes with them."""
    for name in _MODULES:
        import_module(f"perflint.checks.{name}")
