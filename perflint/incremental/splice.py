"""An edit inside one function: that function alone is parsed again, and all other nodes of the tree stay as they are.

Parsing a long file takes longer than all that follows from a change of one row.  And what is remembered of the other
functions holds their nodes, which therefore need not be worked out again: their rows are moved in place.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

from perflint.syntax.scopes import FUNCTIONS, Function
from perflint.syntax.tree import alike, children, walk

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
    """What an edit changes in a tree: one function, or no more than the rows of what stands behind it.

    ``around``: the classes around it, the outermost first.  ``old``, ``new``: the function before and after, if any.
    """

    tree: ast.Module
    window: Window
    around: list[ast.ClassDef]
    old: Function | None = None
    new: Function | None = None

    @staticmethod
    def of(tree: ast.Module, window: Window, old: list[str], new: list[str]) -> Splice | None:
        """The one function in whose body all changed rows stand, parsed again, or none where they hold no code.

        Args:
            tree: the tree of the old text, which this does not change.
            window: the changed rows.
            old: the old text in rows.
            new: the new text in rows, with their line ends.

        Returns:
            None where the whole text has to be parsed: the rows stand elsewhere, or the header of the function or what
            it imports is not as it was, or the rows of the function do not parse by themselves.
        """
        around: list[ast.ClassDef] = []
        node = _holding(tree.body, window)
        while isinstance(node, ast.ClassDef) and _first(node.body[0]) < window.old[0]:
            around.append(node)
            node = _holding(node.body, window)
        if node is None:
            return Splice(tree, window, around) if _hold_no_code(window, old, new) else None
        if not isinstance(node, FUNCTIONS) or _first(node.body[0]) > window.old[0] or window.old[1] > _last(node):
            return None
        function = _parsed(node, window.shift, new, indented=bool(around))
        if function is None or _header(function) != _header(node) or _imports(function) != _imports(node):
            return None
        return Splice(tree, window, around, node, function)

    def apply(self, nodes: Nodes) -> None:
        """Put the function into the tree, or its layout where that alone is new, and move what stands behind it.

        The tree must not have changed since.
        """
        if self.old is not None and self.new is not None:
            self._put(self.old, self.new, nodes)
        for body in (self.tree.body, *(owner.body for owner in self.around)) if self.window.shift else ():
            for statement in body:
                if statement.lineno > self.window.old[1]:  # which those around it are not
                    nodes.move(statement, self.window.shift)
        for outer in reversed(self.around):
            last = outer.body[-1]
            outer.end_lineno, outer.end_col_offset = last.end_lineno, last.end_col_offset

    def _put(self, old: Function, new: Function, nodes: Nodes) -> None:
        if alike(old, new):
            for node, other in zip(walk(old), walk(new), strict=True):
                _place(node, other)
            return
        body = (self.around[-1] if self.around else self.tree).body
        body[body.index(old)] = new
        nodes.pop(old, None)


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
        found = walk(statement)
        if isinstance(statement, ast.ClassDef):  # a method of it may be another one after the next edit
            header = (node for node in children(statement) if node not in statement.body)
            found = [statement, *(node for part in header for node in walk(part))]
        self[statement] = found = [node for node in found if hasattr(node, "lineno")]
        return found


def _holding(body: list[ast.stmt], window: Window) -> ast.stmt | None:
    """The first statement in which changed rows stand."""
    return next((node for node in body if _first(node) <= window.old[1] and window.old[0] <= _last(node)), None)


def _first(node: ast.stmt) -> int:
    """The first row of a statement, decorators included."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(item.lineno for item in decorators)])


def _last(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def _hold_no_code(window: Window, old: list[str], new: list[str]) -> bool:
    """Whether changed rows between two statements are blank, or hold comments alone."""
    changed = (*old[window.old[0] - 1 : window.old[1]], *new[window.new[0] - 1 : window.new[1]])
    before = new[window.new[0] - 2] if window.new[0] > 1 else ""
    return all(not row.strip() or row.lstrip()[0] == "#" for row in changed) and not before.rstrip().endswith("\\")


def _parsed(node: Function, shift: int, rows: list[str], indented: bool) -> Function | None:
    """The function that now stands where another has stood, on the rows that it has in the text."""
    first = _first(node)
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
