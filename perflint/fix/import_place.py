"""Finds where to insert a new import in a module, and which imports it already has."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from perflint.findings import Edit
from perflint.fix.parsed_text import Reading
from perflint.syntax.tree import first_row, string_of
from perflint.text.source import LineTable, Source


@dataclass(frozen=True)
class ImportPlace:
    """The place for new imports in a text, and the imports it has; parsed only when a fix needs it."""

    text: str

    def missing(self, statements: Iterable[str]) -> list[str]:
        """The statements whose names the module does not import yet."""
        present = _names(self._body)
        return [item for item in dict.fromkeys(statements) if not _names(ast.parse(item).body) <= present]

    def free(self, edits: Iterable[Edit]) -> bool:
        """Whether no edit rewrites the place of the imports."""
        return not any(edit.start < self._offset < edit.end for edit in edits)

    def edits(self, statements: Sequence[str]) -> list[Edit]:
        """The insertion of these statements, each on its own line, with the file's line ends."""
        if not statements:
            return []
        newline = Source("", self.text).newline
        lines = newline.join(statements)
        at = self._offset
        fresh_line = at == 0 or self.text[at - 1] in "\r\n"
        return [Edit(at, at, lines + newline if fresh_line else newline + lines)]

    @cached_property
    def _body(self) -> list[ast.stmt]:
        tree = Reading(self.text).tree
        return tree.body if tree is not None else []

    @cached_property
    def _offset(self) -> int:
        """The start of the line after the docstring, the ``__future__`` imports and the first block of imports."""
        head = self._head()
        lines = LineTable(self.text)
        if head:
            return lines.line_end(self._last_row(head[-1]))
        return lines.line_start(first_row(self._body[0])) if self._body else len(self.text)

    def _head(self) -> list[ast.stmt]:
        head: list[ast.stmt] = []
        for statement in self._body:
            is_docstring = isinstance(statement, ast.Expr) and string_of(statement.value) is not None
            if not isinstance(statement, ast.Import | ast.ImportFrom) and (head or not is_docstring):
                break
            head.append(statement)
        return head

    def _last_row(self, last: ast.stmt) -> int:
        """The last row of the line that ``last`` ends on: ``import os; x = [`` continues below."""
        row = last.end_lineno or last.lineno
        for statement in self._body:
            if statement.lineno <= row:
                row = max(row, statement.end_lineno or row)
        return row


def _names(statements: Iterable[ast.stmt]) -> set[tuple[str, ...]]:
    """What module-level imports bind, also those under ``try`` and ``if``."""
    names: set[tuple[str, ...]] = set()
    for statement in statements:
        if isinstance(statement, ast.Import):
            names |= {("import", alias.name, alias.asname or "") for alias in statement.names}
        elif isinstance(statement, ast.ImportFrom):
            module = "." * statement.level + (statement.module or "")
            names |= {("from", module, alias.name, alias.asname or alias.name) for alias in statement.names}
        elif isinstance(statement, ast.If | ast.Try):
            names |= _names([*statement.body, *statement.orelse])
    return names
