"""The walk over a unit, shared by all checks: it visits the statements that can contain a finding."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

import libcst as cst

from perflint.lint.context import Context
from perflint.lint.registry import Check
from perflint.stopwatch import phase

_SKIPPED = frozenset({"TrailingWhitespace", "EmptyLine", "Comma", "AssignEqual", "Dot", "Semicolon"})


class Walk:
    """Calls every check that is registered for a node's type when it visits the node.

    LibCST's own ``visit`` makes a new node for each that it visits, which takes twice as long as all checks together.
    """

    def __init__(self, context: Context, table: Mapping[str, list[Check]], rows: Iterable[int] | None = None) -> None:
        """``rows``: the rows of the statements to look at; None looks at all of them."""
        self._context = context
        self._table = table
        self._rows = None if rows is None else sorted(rows)

    @phase("walk")
    def run(self) -> None:
        """Walk the whole unit."""
        self._node(self._context.unit.module)

    def _node(self, node: cst.CSTNode) -> None:
        kind = type(node)
        if self._rows is not None and _is_line(kind) and not self._is_wanted(node):
            return
        context, is_statement = self._context, _is_statement(kind)
        context.enter(node, is_statement)
        for function in self._table.get(kind.__name__, ()):
            function(node, context)
        context.parents.append(node)
        for child in children(node):
            self._node(child)
        context.parents.pop()
        context.leave(is_statement)

    def _is_wanted(self, node: cst.CSTNode) -> bool:
        rows = self._rows or ()
        lines = self._context.file.source.lines
        start, end = self._context.range(node)
        at = bisect_left(rows, lines.position(start)[0])
        return at < len(rows) and rows[at] <= lines.position(end)[0]


def children(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The direct children of a node, without space, commas and parentheses."""
    for name in _fields(type(node)):
        value = getattr(node, name)
        for item in value if isinstance(value, (tuple, list)) else (value,):
            kind: Any = type(item)
            if _is_walked(kind):
                yield item


# Computing it once for each type is many times faster than for each node: LibCST's classes are abstract.
@cache
def _is_line(kind: type[object]) -> bool:
    return issubclass(kind, (cst.SimpleStatementLine, cst.BaseCompoundStatement))


@cache
def _is_statement(kind: type[object]) -> bool:
    return issubclass(kind, (cst.BaseSmallStatement, cst.BaseCompoundStatement))


@cache
def _is_walked(kind: type[object]) -> bool:
    skipped = (cst.BaseParenthesizableWhitespace, cst.LeftParen, cst.RightParen)
    return issubclass(kind, cst.CSTNode) and not issubclass(kind, skipped) and kind.__name__ not in _SKIPPED


@cache
def _fields(node: type[cst.CSTNode]) -> tuple[str, ...]:
    """The fields of a node type that can contain nodes."""
    return tuple(
        name
        for name in node.__dataclass_fields__
        if not name.startswith(("whitespace", "lpar", "rpar", "comma", "semicolon", "leading_lines", "trailing"))
        and name not in ("header", "footer", "lines_after_decorators", "encoding", "default_indent", "default_newline")
    )
