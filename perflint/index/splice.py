"""An edit inside one function: that function alone is parsed again, and all other nodes of the tree stay as they are.

Parsing a long file takes longer than all that follows from a change of one row.  And what is remembered of the other
functions holds their nodes, which therefore need not be worked out again: their rows are moved in place.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any

from perflint.index.scopes import FUNCTIONS, Function
from perflint.index.tree import alike, children, walk

_HEADER = "if 1:\n"
_POSITION = ("lineno", "col_offset", "end_lineno", "end_col_offset")


@dataclass(frozen=True)
class Window:
    """The rows (from 1, inclusive) that an edit has changed: of the old text and of the new one."""

    old: tuple[int, int]
    new: tuple[int, int]

    @staticmethod
    def between(old: list[str], new: list[str]) -> Window:
        """The changed rows of two texts in rows."""
        shorter = min(len(old), len(new))
        before = next((row for row in range(shorter) if old[row] != new[row]), shorter)
        behind = next((row for row in range(shorter - before) if old[-1 - row] != new[-1 - row]), shorter - before)
        return Window((before + 1, len(old) - behind), (before + 1, len(new) - behind))

    @property
    def shift(self) -> int:
        """By how many rows what stands behind the window has moved."""
        return self.new[1] - self.old[1]

    def now(self, row: int) -> int | None:
        """Where a row (from 1) is now; None where it is gone."""
        if row < self.old[0] or (row <= self.old[1] and not self.shift):
            return row
        return row + self.shift if row > self.old[1] else None


@dataclass
class Splice:
    """A function that takes the place of one in a tree.

    ``around``: the classes around it, the outermost first.  ``node``: what of the two is in the tree.
    """

    tree: ast.Module
    around: list[ast.ClassDef]
    old: Function
    new: Function
    shift: int
    node: Function = field(init=False)

    def __post_init__(self) -> None:
        self.node = self.old

    @staticmethod
    def of(tree: ast.Module, window: Window, rows: list[str]) -> Splice | None:
        """The function of a tree in whose body all changed rows stand, parsed again.

        Args:
            tree: the tree of the old text, which this does not change.
            window: the changed rows.
            rows: the new text, with its line ends.

        Returns:
            None where the whole text has to be parsed: the rows stand elsewhere, or the header of the function or what
            it imports is not as it was, or the rows of the function do not parse by themselves.
        """
        around: list[ast.ClassDef] = []
        node = _holding(tree.body, window)
        while isinstance(node, ast.ClassDef):
            around.append(node)
            node = _holding(node.body, window)
        if not isinstance(node, FUNCTIONS) or not _in_body(node, window):
            return None
        new = _parsed(node, window.shift, rows, indented=bool(around))
        if new is None or _header(new) != _header(node) or _imports(new) != _imports(node):
            return None
        return Splice(tree, around, node, new, window.shift)

    def apply(self, nodes: Nodes) -> None:
        """Put the function into the tree, or its layout where that alone is new, and move what stands behind it.

        The tree must not have changed since.
        """
        body = (self.around[-1] if self.around else self.tree).body
        at = body.index(self.old)
        if alike(self.old, self.new):
            for old, new in zip(walk(self.old), walk(self.new), strict=True):
                _place(old, new)
        else:
            nodes.pop(self.old, None)
            body[at] = self.node = self.new
        if self.shift:
            self._move_what_follows(body[at], nodes)
        for owner in reversed(self.around):
            last = owner.body[-1]
            owner.end_lineno, owner.end_col_offset = last.end_lineno, last.end_col_offset

    def _move_what_follows(self, node: ast.stmt, nodes: Nodes) -> None:
        for owner in (*reversed(self.around), self.tree):
            for statement in owner.body[owner.body.index(node) + 1 :]:
                nodes.move(statement, self.shift)
            if isinstance(owner, ast.ClassDef):
                node = owner


class Nodes(dict[ast.stmt, list[Any]]):
    """The nodes of statements that have rows, which takes longer to find out than to move them."""

    def move(self, statement: ast.stmt, shift: int) -> None:
        """Move a statement by some rows."""
        for node in self[statement]:
            node.lineno += shift
            node.end_lineno += shift
        for inner in statement.body if isinstance(statement, ast.ClassDef) else ():
            self.move(inner, shift)

    def __missing__(self, statement: ast.stmt) -> list[Any]:
        parts = [statement]
        if isinstance(statement, ast.ClassDef):  # a method of it may be another one after the next edit
            parts = [node for node in children(statement) if node not in statement.body]
        found = [node for part in parts for node in walk(part) if hasattr(node, "lineno")]
        found = self[statement] = [statement, *found] if isinstance(statement, ast.ClassDef) else found
        return found


def _holding(body: list[ast.stmt], window: Window) -> ast.stmt | None:
    """The statement among whose rows, but for the first, all changed rows stand."""
    return next((node for node in body if node.lineno < window.old[0] and window.old[1] <= _last(node)), None)


def _last(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def _in_body(node: Function, window: Window) -> bool:
    """Whether changed rows stand in the body of a function, none of them behind its last one."""
    first = node.body[0]
    decorators = getattr(first, "decorator_list", [])
    return min(item.lineno for item in (first, *decorators)) <= window.old[0] <= _last(node)


def _parsed(node: Function, shift: int, rows: list[str], indented: bool) -> Function | None:
    """The function that now stands where another has stood, on the rows that it has in the text."""
    first = min(item.lineno for item in (node, *node.decorator_list))
    piece = "".join(rows[first - 1 : _last(node) + shift])
    header = _HEADER if indented else ""
    if indented and first < 2:
        return None
    try:
        body = ast.parse("\n" * (first - 1 - bool(header)) + header + piece).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if len(body) == 1 and isinstance(body[0], ast.If) and indented:
        body = [*body[0].body, *body[0].orelse]
    found = body[0] if len(body) == 1 else None
    return found if isinstance(found, FUNCTIONS) else None


def _header(node: Function) -> list[str]:
    parts = (node.args, *node.decorator_list, *([node.returns] if node.returns else []))
    return [type(node).__name__, node.name, *map(ast.dump, parts)]


def _imports(node: Function) -> list[str]:
    return [ast.dump(item) for item in walk(node) if isinstance(item, (ast.Import, ast.ImportFrom))]


def _place(node: ast.AST, other: ast.AST) -> None:
    """Let a node stand where another one does."""
    if hasattr(other, "lineno"):
        for name in _POSITION:
            setattr(node, name, getattr(other, name))
