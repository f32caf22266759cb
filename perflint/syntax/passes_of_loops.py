"""Finds what one iteration of a loop passes to the next."""

from __future__ import annotations

import ast

from perflint.syntax.names import stored_names
from perflint.syntax.tree import walk


def hands_on(loop: ast.For, besides: str = "") -> bool:
    """Whether one iteration of a loop passes something to the next in a variable, like a recurrence.

    Sums (``+=``) do not count, nor does the name ``besides``.
    """
    everywhere = {name for statement in loop.body for name in stored_names(statement)} - {besides}
    bound: set[str] = set()
    for statement in loop.body:
        if isinstance(statement, ast.AugAssign):
            continue
        reads = {item.id for item in walk(statement) if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Load)}
        if (reads & everywhere) - bound:
            return True
        bound |= stored_names(statement)
    return False
