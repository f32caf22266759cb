"""The rules: one file for each subject, with its checks, the facts that only they need, and their edits."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

_FIRST = (
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
"""Modules with checks, in order: if two of them could report the same place, the first one does.

The other modules of this folder come after them, by name: a check that shares its places with no other needs no entry.
"""


@cache
def load_checks() -> None:
    """Import every check module, which registers its functions. This is done late, because it imports LibCST."""
    others = sorted(module.name for module in iter_modules(__path__) if module.name not in _FIRST)
    for name in (*_FIRST, *others):
        import_module(f"perflint.rules.{name}")
