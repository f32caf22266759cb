"""Which calls make a model's forward pass worth a look: those that cost by themselves, and those Python decides on."""

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
"""Functions of ``math`` that ask for the value of what they are given."""


@dataclass(frozen=True)
class Clues:
    """Last names of calls.

    ``decided``: those that matter only where Python decides on what they give.  ``sure``: only where a call is sure to
    lead is looked at, since nobody is shown what is found elsewhere.  ``close``: those that do not make it worth
    following a forward pass through functions that hold none.
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
        """The last names of the calls that are looked for behind other calls too."""
        return self.names - self.close

    def are_far_in(self, statements: Iterable[Statement]) -> bool:
        """Whether the statements of a function hold such a call, and, where it takes one, the decision."""
        return self._holds(list(statements), self.calls - self.close)

    def are_in(self, statements: Iterable[Statement]) -> bool:
        """Whether the statements of a function hold such a call, and, where it takes one, the decision."""
        return self._holds(list(statements), self.calls)

    def are_close_in(self, statements: Iterable[Statement]) -> bool:
        """Whether the statements of a function hold a close call."""
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
        """Whether an expression decides on what such a call gives, or on a name that is bound to it."""
        if isinstance(expression, ast.Call):
            if dotted(expression.func) in PICKS:
                return True
            if not asked and terminal(expression) not in MATH:
                return False  # what a call is given it takes as it is
        return any(
            (isinstance(item, ast.Name) and item.id in bound)
            or (isinstance(item, ast.Call) and terminal(item) in self.decided)
            for item in walk(expression)
        )
