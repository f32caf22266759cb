"""Finds the positions of statements in their blocks, to see which of them are neighbours."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from perflint.syntax.scopes import Scope

_PARTS = ("body", "orelse", "finalbody")


def nth_in_block(scope: Scope) -> Mapping[ast.stmt, tuple[ast.stmt, int]]:
    """For each statement of a scope, the first statement of its block, and its index in the block."""
    return scope.once("nth_in_block", lambda: {node: place for block in _blocks(scope) for node, place in _nth(block)})


def _nth(block: list[ast.stmt]) -> Iterator[tuple[ast.stmt, tuple[ast.stmt, int]]]:
    return ((node, (block[0], index)) for index, node in enumerate(block))


def _blocks(scope: Scope) -> Iterator[list[ast.stmt]]:
    owners: list[ast.AST] = [scope.node]
    owners += (statement.node for statement in scope.statements)
    for owner in owners:
        for part in _PARTS:
            block = getattr(owner, part, None)
            if isinstance(block, list) and block:
                yield block
        for inner in (*getattr(owner, "handlers", ()), *getattr(owner, "cases", ())):
            yield inner.body
