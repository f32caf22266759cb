"""Which statement a row belongs to: a call over four rows is one place, and so is the head of a loop."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

Rows = tuple[int, int]
"""The first and the last row of a statement, or of the head of a compound one."""


@functools.cache
def _spans(path: Path) -> tuple[Rows, ...]:
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError, OSError):
        return ()
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            last = node.end_lineno or node.lineno
            found.append((node.lineno, max(node.lineno, body[0].lineno - 1) if body else last))
    return tuple(found)


def rows(path: Path, row: int) -> Rows:
    """The rows of the innermost statement, or head of one, around a row; the row alone where there is none."""
    around = [span for span in _spans(path) if span[0] <= row <= span[1]]
    return min(around, key=lambda span: span[1] - span[0], default=(row, row))
