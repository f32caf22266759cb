"""Finds which other statements read a name, and whether anything binds it again between two statements."""

from __future__ import annotations

import ast

from perflint.syntax.bindings import bindings_of, loads_of
from perflint.syntax.scopes import Scope, Statement
from perflint.syntax.tree import walk


def other_reads(scope: Scope, name: str, binding: Statement, use: Statement) -> int:
    """How many reads of a name may see the value of an assignment, not counting one read in a given statement.

    Args:
        scope: the function.
        name: a plain name.
        binding: the assignment.
        use: the statement that reads it.
    """
    loads = loads_of(scope).get(name, [])
    in_a_loop = binding.loop is not None
    seen = sum(count for at, count in loads if (at.start > binding.start or in_a_loop) and at is not binding)
    return seen - min(1, next((count for at, count in loads if at is use), 0)) + _inside_others(scope, name)


def _inside_others(scope: Scope, name: str) -> int:
    """The reads in nested functions; those in the functions of a module may be of a local name."""
    if isinstance(scope.node, ast.Module):
        return 0
    reads = (item for item in walk(scope.node) if isinstance(item, ast.Name) and item.id == name)
    everywhere = sum(isinstance(item.ctx, ast.Load) for item in reads)
    return everywhere - sum(count for _, count in loads_of(scope).get(name, []))


def is_rebound_between(scope: Scope, names: set[str], first: Statement, second: Statement) -> bool:
    """Whether a statement between two others in the scope binds one of some names again."""
    bindings = (binding for name in names for binding in bindings_of(scope).get(name, ()))
    return any(first.start < binding.start < second.start for binding in bindings)
