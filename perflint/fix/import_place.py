"""Finds where to insert a new import in a module, and which imports it already has.

A new import goes below the last import that runs before the code that needs it, and not to the top: what the module
does between its imports, such as setting flags in ``os.environ``, stays before it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from perflint.findings import Edit, Fix
from perflint.fix.parsed_text import Reading
from perflint.syntax.always_bound import Given, always_does, given_by
from perflint.syntax.scopes import TRIES
from perflint.syntax.tree import alike, first_row, string_of
from perflint.text.source import LineTable, Source


@dataclass(frozen=True)
class ImportPlace:
    """The places for new imports in a text, and the imports it has; parsed only when a fix needs it."""

    text: str

    def missing(self, statements: Iterable[str], start: int) -> list[str]:
        """The statements whose names the module has not always imported above a place."""
        if not statements:
            return []
        above = self._above(start)
        return [item for item in dict.fromkeys(statements) if not _is_there(ast.parse(item).body[0], above)]

    def at(self, start: int) -> int:
        """Where a new import for code at a place goes: the start of a row above it."""
        lines, above = self._lines, self._above(start)
        last = next((node for node in reversed(above) if _imports(node) or _has_to_be_first(node)), None)
        if last is not None:
            return lines.line_end(self._last_row(last))
        return lines.line_start(first_row(self._body[0])) if self._body else 0

    def edit(self, statements: Sequence[str], at: int) -> Edit:
        """The insertion of these statements at such a place, each on its own line, with the file's line ends."""
        newline = Source("", self.text).newline
        return Edit(at, at, "".join(statement + newline for statement in statements))

    def edits(self, fix: Fix) -> list[Edit]:
        """The insertion of the imports that a fix needs and that the text lacks."""
        start = first_written(fix)
        missing = self.missing(fix.imports, start)
        return [self.edit(missing, self.at(start))] if missing else []

    @cached_property
    def _lines(self) -> LineTable:
        return LineTable(self.text)

    @cached_property
    def _body(self) -> list[ast.stmt]:
        tree = Reading(self.text).tree
        return tree.body if tree is not None else []

    def _above(self, start: int) -> list[ast.stmt]:
        """The statements of the module that are complete before a place."""
        row = self._lines.position(start)[0]
        return [node for node in self._body if self._last_row(node) < row]

    def _last_row(self, last: ast.stmt) -> int:
        """The last row of the line that ``last`` ends on: ``import os; x = [`` continues below."""
        row = last.end_lineno or last.lineno
        for statement in self._body:
            if statement.lineno <= row:
                row = max(row, statement.end_lineno or row)
        return row


def first_written(fix: Fix) -> int:
    """Where the first text of a fix begins that may need its imports; an import that it removes does not."""
    written = [edit for edit in fix.edits if edit.content] or fix.edits
    return min(written, default=Edit(0, 0, "")).start


def _imports(node: ast.stmt) -> bool:
    """Whether a statement of a module imports something when the module is loaded."""
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return True
    if not isinstance(node, (ast.If, ast.With, *TRIES)):
        return False
    blocks = (getattr(node, name, ()) for name in ("body", "orelse", "finalbody"))
    return any(_imports(item) for block in blocks for item in block)


def _has_to_be_first(node: ast.stmt) -> bool:
    """Whether a statement is the docstring of the module."""
    return isinstance(node, ast.Expr) and string_of(node.value) is not None


def _is_there(wanted: ast.stmt, above: Iterable[ast.stmt]) -> bool:
    """Whether some statements have always bound the names of an import, with the same meaning."""
    names = given_by(wanted)

    def has(name: Given) -> bool:
        return any(always_does(node, lambda item: name in given_by(item)) for node in above)

    return all(map(has, names)) if names else any(alike(node, wanted) for node in above)
