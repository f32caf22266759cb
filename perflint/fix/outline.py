"""Splits a file into the part that an edit touches and a shortened rest, so that a trial need not read all of it."""

from __future__ import annotations

import ast
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from perflint.findings import Edit
from perflint.fix.parsed_text import Reading
from perflint.syntax.scopes import FUNCTIONS
from perflint.syntax.tree import first_row
from perflint.text.source import Source

_Path = tuple[str, ...]


@dataclass(frozen=True)
class Region:
    """Consecutive statements of a module, in whole rows.

    ``start`` and ``end`` are character offsets; ``first`` and ``last`` number the statements, half open.
    ``functions`` are the paths of the functions in it that an edit touches: ``("Trainer", "fit")``.
    """

    start: int
    end: int
    first: int
    last: int
    functions: frozenset[_Path]


class Outline:
    """The statements of a module by their rows."""

    def __init__(self, source: Source, tree: ast.Module) -> None:
        self._lines = source.lines
        self._body = tree.body
        self._starts = [self._lines.line_start(first_row(node)) for node in self._body]
        self._ends = [self._lines.line_end(node.end_lineno or node.lineno) for node in self._body]

    @property
    def size(self) -> int:
        """How many statements the module has."""
        return len(self._body)

    def region(self, edits: Sequence[Edit]) -> Region:
        """The statements that contain some edits, and those next to an insertion between two rows."""
        low, high = min(edit.start for edit in edits), max(edit.end for edit in edits)
        first, last = bisect_left(self._ends, low), bisect_right(self._starts, high)
        while first > 0 and self._ends[first - 1] > self._starts[first]:  # ``a = 1; b = 2`` share a row
            first -= 1
        while 0 < last < len(self._body) and self._starts[last] < self._ends[last - 1]:
            last += 1
        start = min(low, self._starts[first]) if first < last else low
        end = max(high, self._ends[last - 1]) if first < last else high
        start = self._lines.line_start(self._lines.position(start)[0])
        if end > start:  # up to the end of the row, unless it already is one
            end = self._lines.line_end(self._lines.position(end - 1)[0])
        return Region(start, end, first, max(first, last), frozenset(self._touched(edits, first, last)))

    def inside(self, region: Region, part: Reading) -> Reading:
        """The statements of ``part``, the text of a region, with an empty body in untouched functions."""
        body = [] if part.tree is None else part.tree.body
        return Reading(part.text, ast.Module([_emptied(node, region.functions, ()) for node in body], []))

    def around(self, region: Region, inside: Reading, imports: Iterable[str] = ()) -> Reading:
        """The module, its functions emptied, with ``inside`` in place of a region, and with more imports."""
        body = [] if inside.tree is None else inside.tree.body
        head = min(self._head, region.first)
        added = [node for statement in imports for node in ast.parse(statement).body]
        outer = self._outer
        tree = ast.Module([*outer[:head], *added, *outer[head : region.first], *body, *outer[region.last :]], [])
        return Reading("", tree)

    @cached_property
    def _head(self) -> int:
        """How many statements have to stay first: the docstring and the imports from ``__future__``."""
        head = 0
        for node in self._body:
            is_future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
            if not is_future and not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
                break
            head += 1
        return head

    @cached_property
    def _outer(self) -> list[ast.stmt]:
        return [_emptied(node, (), ()) for node in self._body]

    def _touched(self, edits: Sequence[Edit], first: int, last: int) -> Iterator[_Path]:
        rows = {row for edit in edits for row in self._rows(edit)}
        for node in self._body[first:last]:
            for path, function in _functions(node, ()):
                if any(first_row(function) <= row <= (function.end_lineno or row) for row in rows):
                    yield path

    def _rows(self, edit: Edit) -> tuple[int, int]:
        """The first and the last row of an edit; an inserted row also belongs to the one above."""
        return self._lines.position(max(edit.start - 1, 0))[0], self._lines.position(edit.end)[0]


def _functions(node: ast.stmt, path: _Path) -> Iterator[tuple[_Path, ast.stmt]]:
    """The functions of a module and its classes with their paths, not those inside of functions."""
    if isinstance(node, FUNCTIONS):
        yield (*path, node.name), node
    elif isinstance(node, ast.ClassDef):
        for item in node.body:
            yield from _functions(item, (*path, node.name))


def _emptied(node: ast.stmt, kept: Collection[_Path], path: _Path) -> ast.stmt:
    """The same statement with its functions emptied, except for those that are kept."""
    if isinstance(node, FUNCTIONS) and (*path, node.name) not in kept:
        return _with_body(node, [ast.copy_location(ast.Pass(), node.body[0])])
    if isinstance(node, ast.ClassDef):
        return _with_body(node, [_emptied(item, kept, (*path, node.name)) for item in node.body])
    return node


def _with_body(node: ast.stmt, body: list[ast.stmt]) -> ast.stmt:
    fields = {**{name: getattr(node, name) for name in node._fields if hasattr(node, name)}, "body": body}
    return ast.copy_location(type(node)(**fields), node)
