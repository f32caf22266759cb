"""Finds the blocks of a file that traces can name: layers by their class, and code in ``with RecordEvent("name"):``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from perflint.text.source import Source

LAYER, RANGE = "class", "range"

_RANGES = frozenset({"RecordEvent", "annotate", "nvtx_range"})
"""The last names of calls that name the block below a ``with``: those of Paddle, and of the package ``nvtx``."""


@dataclass(frozen=True)
class Block:
    """Rows (from 1, both included) whose time a trace may show under a name; ``kind``: a ``class``, or a ``range``."""

    kind: str
    name: str
    first: int
    last: int


def blocks(source: Source) -> list[Block]:
    """All such blocks of a file; none if it cannot be parsed."""
    try:
        tree = ast.parse(source.text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    found: list[Block] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            found += _forward(node)
        elif isinstance(node, ast.With | ast.AsyncWith):
            found += [Block(RANGE, name, node.lineno, node.end_lineno or node.lineno) for name in _names(node)]
    return found


def _forward(node: ast.ClassDef) -> Iterator[Block]:
    """The methods of a class that its ``forward`` calls, starting with itself: they run within the forward pass."""
    methods = {each.name: each for each in node.body if isinstance(each, ast.FunctionDef)}
    waiting, seen = ["forward"], {"forward"}
    while waiting:
        method = methods.get(waiting.pop())
        if method is None:
            continue
        yield Block(LAYER, node.name, method.lineno, method.end_lineno or method.lineno)
        called = {each.attr for each in ast.walk(method) if isinstance(each, ast.Attribute) and _is_self(each.value)}
        waiting += called - seen
        seen |= called


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


def _names(node: ast.With | ast.AsyncWith) -> Iterator[str]:
    for item in node.items:
        call = item.context_expr
        if not isinstance(call, ast.Call):
            continue
        function = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        given = [*call.args[:1], *(each.value for each in call.keywords if each.arg in ("name", "message"))]
        if function in _RANGES and given and isinstance(given[0], ast.Constant) and isinstance(given[0].value, str):
            yield given[0].value
