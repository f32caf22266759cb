"""Finds where a statement tests whether something is true."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from perflint.syntax.names import dotted
from perflint.syntax.scopes import Statement, headers
from perflint.syntax.tree import string_of, walk

QUANTIFIERS = frozenset({"any", "all"})


def candidates(node: ast.stmt) -> Iterator[tuple[ast.expr, bool]]:
    """The expressions of a statement that may read a tensor for a decision, with whether their own truth is tested."""
    if isinstance(node, (ast.If, ast.While, ast.Assert)):
        yield leaf(node.test), True
    for header in headers(node):
        for item in walk(header):
            if isinstance(item, (ast.Call, ast.Compare)):
                yield item, False
            for part in _asked_in(item):
                yield leaf(part), True


def is_for_another_program(statement: Statement, module: str) -> bool:
    """Whether a statement is under a test of ``__name__`` that fails however its module is started.

    ``if __name__ == "main":``, which should have been ``"__main__"``, is only true in a module named ``main``.
    """
    return any(_compared_name(test) not in (None, "__main__", module) for test in statement.tests)


def _compared_name(test: ast.expr) -> str | None:
    """The text that a test compares ``__name__`` with."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], ast.Eq):
        return None
    return string_of(test.comparators[0]) if dotted(test.left) == "__name__" else None


def _asked_in(item: ast.AST) -> Sequence[ast.expr]:
    if isinstance(item, ast.BoolOp):
        return item.values
    if isinstance(item, ast.UnaryOp) and isinstance(item.op, ast.Not):
        return [item.operand]
    if isinstance(item, ast.IfExp):
        return [item.test]
    if isinstance(item, ast.comprehension):
        return item.ifs
    if isinstance(item, ast.Call) and dotted(item.func) in QUANTIFIERS and item.args:
        return [item.args[0].elt] if isinstance(item.args[0], (ast.GeneratorExp, ast.ListComp)) else []
    return []


def operands(node: ast.expr) -> Iterator[ast.expr]:
    """The expressions that ``and``, ``or`` and ``not`` join."""
    if isinstance(node, ast.BoolOp):
        for value in node.values:
            yield from operands(value)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield from operands(node.operand)
    else:
        yield node


def required(test: ast.expr) -> Iterator[ast.expr]:
    """The parts of a test that all have to be true."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        for value in test.values:
            yield from required(value)
    else:
        yield test


def leaf(node: ast.expr) -> ast.expr:
    """The value that ``(name := value)`` tests."""
    while isinstance(node, ast.NamedExpr):
        node = node.value
    return node
