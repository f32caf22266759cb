"""Reads that only wait for the device, so that the clock which is read next has the time of all work before it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from perflint.syntax.names import dotted
from perflint.syntax.scopes import Scope, Statement

if TYPE_CHECKING:
    from perflint.index.project import FileIndex

_READS = frozenset({"item", "numpy", "tolist"})
_CLOCKS = frozenset(
    {"time.time", "time.time_ns", "time.perf_counter", "time.perf_counter_ns", "time.monotonic", "time.monotonic_ns"}
)


def ends_timed_part(file: FileIndex, scope: Scope, statement: Statement) -> bool:
    """Whether a statement reads a tensor for nothing but to wait for it, and the next one looks at the clock.

    Without the wait the time would be that of handing out the work, so the read cannot go.
    """
    if not _is_bare_read(statement.node):
        return False
    position = next(index for index, item in enumerate(scope.statements) if item is statement)
    following = scope.statements[position + 1 : position + 2]
    return any(
        after.place is statement.place and any(_asks_the_clock(file, call) for call in after.calls)
        for after in following
    )


def _is_bare_read(node: ast.stmt) -> bool:
    call = node.value if isinstance(node, ast.Expr) else None
    return (
        isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in _READS
    ) and not call.args


def _asks_the_clock(file: FileIndex, call: ast.Call) -> bool:
    name = dotted(call.func)
    return name is not None and file.names.resolve(name) in _CLOCKS
