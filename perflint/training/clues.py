"""Clues: the calls that make a forward pass worth checking: they cost time, or Python tests their result."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from perflint.syntax.decisions import candidates
from perflint.syntax.names import dotted, stored_names
from perflint.syntax.scopes import Statement, terminal
from perflint.syntax.tree import walk
from perflint.training.evidence import terminal_names

PICKS = frozenset({"max", "min", "sorted"})
"""Functions of Python that decide by themselves."""

MATH = frozenset({"isnan", "isfinite", "isinf"})
"""Functions of ``math`` that need the value of their argument."""


@dataclass(frozen=True)
class Clues:
    """Last names of calls.

    ``decided``: those that matter only if Python tests their result. ``sure``: only code that a call certainly reaches
    is checked, since findings elsewhere would not be shown. ``close``: those that are not worth following a forward
    pass through functions without them.
    """

    calls: frozenset[str] = frozenset()
    decided: frozenset[str] = frozenset()
    sure: bool = False
    close: frozenset[str] = frozenset()

    @cached_property
    def names(self) -> frozenset[str]:
        """The last names of all calls that matter."""
        return self.calls | self.decided

    @cached_property
    def far(self) -> frozenset[str]:
        """The last names of the calls that are also searched for behind other calls."""
        return self.names - self.close

    def are_far_in(self, statements: Iterable[Statement]) -> bool:
        """Whether the statements of a function contain such a call, and, if needed, the decision."""
        return self._holds(list(statements), self.calls - self.close)

    def are_in(self, statements: Iterable[Statement]) -> bool:
        """Whether the statements of a function contain such a call, and, if needed, the decision."""
        return self._holds(list(statements), self.calls)

    def are_close_in(self, statements: Iterable[Statement]) -> bool:
        """Whether the statements of a function contain a close call."""
        return any(not self.close.isdisjoint(terminal_names(statement)) for statement in statements)

    def _holds(self, statements: list[Statement], calls: frozenset[str]) -> bool:
        called = frozenset().union(*map(terminal_names, statements))
        if not called.isdisjoint(calls):
            return True
        return not called.isdisjoint(self.decided) and self._are_decided(statements)

    def _are_decided(self, statements: list[Statement]) -> bool:
        bound = {
            name
            for statement in statements
            if isinstance(statement.node, (ast.Assign, ast.AnnAssign))
            and not terminal_names(statement).isdisjoint(self.decided)
            for name in stored_names(statement.node)
        }
        found = (candidate for statement in statements for candidate in candidates(statement.node))
        return any(self._is_decided(expression, asked, bound) for expression, asked in found)

    def _is_decided(self, expression: ast.expr, asked: bool, bound: set[str]) -> bool:
        """Whether an expression tests the result of such a call, or a name bound to it."""
        if isinstance(expression, ast.Call):
            if dotted(expression.func) in PICKS:
                return True
            if not asked and terminal(expression) not in MATH:
                return False  # a call does not test its arguments
        return any(
            (isinstance(item, ast.Name) and item.id in bound)
            or (isinstance(item, ast.Call) and terminal(item) in self.decided)
            for item in walk(expression)
        )
