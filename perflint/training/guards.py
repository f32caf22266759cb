"""Guards: tests that make a branch run only occasionally, so that code under them costs little.

``rare(test, value)`` decides whether ``test`` is ``value`` only on rare steps. A rank check or a configuration flag is
not a guard: rank 0 still stalls on each step, and the others wait for it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from perflint.dataflow.type_tests import impossible
from perflint.syntax.names import dotted
from perflint.syntax.scopes import headers
from perflint.syntax.tree import walk
from perflint.syntax.vocabulary import asks_to_record, asks_to_train, fills_up, is_rarely_true, means_settings
from perflint.training import comparisons
from perflint.training.counting import NO_NAMES, Definitions, as_remainder, counts_steps, key_of, spaces_steps, written

if TYPE_CHECKING:
    from perflint.index.kinds import Kind
    from perflint.index.project import FileIndex

COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_IS_THERE = frozenset({"exists", "is_not_none", "not_none"})
_MISSING = frozenset({"isfinite", "exists", "is_file", "isfile"})
"""Tests on something that nearly always exists: what is created when it is missing is created once."""
_DEEPEST = 9
"""How many nested tests, and names of tests, are followed."""


def rare(test: ast.expr, value: bool, definitions: Definitions, counters: frozenset[str] = NO_NAMES) -> bool:
    """Whether ``test`` is ``value`` only on a few steps of a loop.

    Args:
        definitions: names that are bound once, with their values.
        counters: names that count the steps of the loop, whatever their names are.
    """
    return _Guard(definitions, counters).is_rare(test, value, 0)


class _Guard:
    """Decides whether tests are true only on a few steps of one loop."""

    def __init__(self, definitions: Definitions, counters: frozenset[str]) -> None:
        self._definitions = definitions
        self._counters = counters

    def is_rare(self, test: ast.expr, value: bool, depth: int) -> bool:
        """Whether a test is ``value`` only on a few steps; ``depth``: how many tests enclose it."""
        if depth > _DEEPEST:
            return False
        answer = _BY_TYPE.get(type(test), _Guard._other)
        return answer(self, test, value, depth + 1)

    def _bool(self, test: ast.BoolOp, value: bool, depth: int) -> bool:
        every = isinstance(test.op, ast.And) != value
        parts = [self.is_rare(part, value, depth) for part in test.values]
        return all(parts) if every else any(parts)

    def _unary(self, test: ast.UnaryOp, value: bool, depth: int) -> bool:
        return isinstance(test.op, ast.Not) and self.is_rare(test.operand, not value, depth)

    def _named(self, test: ast.NamedExpr, value: bool, depth: int) -> bool:
        return self.is_rare(test.value, value, depth)

    def _compare(self, test: ast.Compare, value: bool, _: int) -> bool:
        known = comparisons.of_constants(test, self._definitions)
        if known is not None:
            return known != value
        told = _Guard(self._definitions, NO_NAMES)
        return comparisons.is_rare(
            test, value, self._definitions, self._counters, lambda left: told.is_rare(left, True, _DEEPEST - 1)
        )

    def _choice(self, test: ast.IfExp, value: bool, depth: int) -> bool:
        picks = ((test.body, True), (test.orelse, False))
        return all(self.is_rare(part, value, depth) or self.is_rare(test.test, chosen, depth) for part, chosen in picks)

    def _constant(self, test: ast.Constant, value: bool, _: int) -> bool:
        return bool(test.value) != value

    def _arithmetic(self, test: ast.BinOp, value: bool, _: int) -> bool:
        remainder = as_remainder(test)
        if remainder is not None:
            return not value and spaces_steps(remainder, self._definitions)
        is_mask = isinstance(test.op, ast.BitAnd) and isinstance(test.right, ast.Constant)
        return is_mask and not value and counts_steps(test.left, self._counters)

    def _call(self, test: ast.Call, value: bool, depth: int) -> bool:
        remainder = as_remainder(test)
        if remainder is not None:
            return self._arithmetic(remainder, value, depth)
        called = dotted(test.func) or ""
        answer = self._definitions.get(f"{dotted(test.func)}()")
        if answer is not None:
            return self.is_rare(answer, value, depth)
        if called.rpartition(".")[2] in _IS_THERE and len(test.args) == 1 and not called.endswith("path.exists"):
            return self.is_rare(ast.Compare(test.args[0], [ast.IsNot()], [ast.Constant(None)]), value, depth)
        if called == "bool" and test.args:
            return self.is_rare(test.args[0], value, depth)
        return _rare_call(test, value)

    def _other(self, test: ast.expr, value: bool, depth: int) -> bool:
        """Decide on a name, or a lookup."""
        remainder = as_remainder(test)
        if remainder is not None:
            return self._arithmetic(remainder, value, depth)
        name = dotted(test) or key_of(test)
        if name is None:
            return False
        definition = self._definitions.get(name)
        if isinstance(definition, ast.Constant):
            return bool(definition.value) != value
        if definition is not None:
            if self.is_rare(definition, value, depth):
                return True
            if not isinstance(definition, (ast.Call, ast.Attribute, ast.Subscript, ast.Name)):
                return False  # its value is known, and is not a guard, whatever the name suggests
        last = name.rpartition(".")[2]
        if value:
            return is_rarely_true(last) or _is_told(name, self._definitions)
        return fills_up(last) or asks_to_train(last) or counts_steps(test, self._counters)


_BY_TYPE: dict[type[ast.expr], Callable[..., bool]] = {
    ast.BoolOp: _Guard._bool,
    ast.UnaryOp: _Guard._unary,
    ast.NamedExpr: _Guard._named,
    ast.Compare: _Guard._compare,
    ast.IfExp: _Guard._choice,
    ast.Constant: _Guard._constant,
    ast.BinOp: _Guard._arithmetic,
    ast.Call: _Guard._call,
}


def _is_told(name: str, definitions: Definitions) -> bool:
    """Whether a field says what to do at this step: ``status.save_checkpoint`` from the answer of a scheduler."""
    receiver, _, last = name.rpartition(".")
    if not receiver or means_settings(receiver) or not asks_to_record(last):
        return False
    return isinstance(written(definitions).get(receiver), ast.Call)


def within_expressions(
    node: ast.stmt, definitions: Definitions, kind: Callable[[ast.expr], Kind], file: FileIndex
) -> frozenset[ast.AST]:
    """The parts of a statement's own expressions that conditional expressions run only on a few steps.

    Args:
        node: the statement.
        definitions: what names mean.
        kind: the kinds of expressions there: a number fails a test for a tensor.
        file: the file of the statement.
    """

    def is_off(test: ast.expr, value: bool) -> bool:
        return rare(test, value, definitions) or impossible(test, value, kind, file)

    found: set[ast.AST] = set()
    for header in headers(node):
        for item in walk(header):
            branches: list[ast.expr] = []
            if isinstance(item, ast.IfExp):
                both = ((item.body, True), (item.orelse, False))
                branches = [part for part, value in both if is_off(item.test, value)]
            elif isinstance(item, ast.BoolOp):
                truth = isinstance(item.op, ast.And)
                first = next((at for at, part in enumerate(item.values, 1) if is_off(part, truth)), None)
                branches = item.values[first:] if first is not None else []
            elif isinstance(item, COMPREHENSIONS):
                tests = (test for generator in item.generators for test in generator.ifs)
                if any(is_off(test, True) for test in tests):
                    branches = [item.key, item.value] if isinstance(item, ast.DictComp) else [item.elt]
            for branch in branches:
                found.update(walk(branch))
    return frozenset(found)


def _rare_call(test: ast.Call, value: bool, depth: int = 0) -> bool:
    if depth > _DEEPEST - 1:
        return False
    name = dotted(test.func) or (test.func.attr if isinstance(test.func, ast.Attribute) else "")
    last = name.rpartition(".")[2]
    if last in _MISSING:
        return not value
    if last in ("isnan", "isinf"):
        return value
    asked = _asked_by(test, last)
    if asked is not None:
        return _rare_call(asked, value, depth + 1)
    first = test.args[0] if test.args else None
    if name == "any" and isinstance(first, (ast.Name, ast.Attribute)):
        return not value  # the value does not exist at all
    if last in ("get", "getenv") and isinstance(first, ast.Constant):
        return value and is_rarely_true(str(first.value))
    return value and (is_rarely_true(last) or last == "isEnabledFor")


def _asked_by(test: ast.Call, last: str) -> ast.Call | None:
    """The call whose result a call passes on: ``isnan(x)`` of ``isnan(x).any()``, of ``bool(isnan(x))``."""
    inner = test.func.value if isinstance(test.func, ast.Attribute) else None
    if last in ("any", "all", "item", "numpy", "bool") and isinstance(inner, ast.Call):
        return inner
    first = test.args[0] if test.args else None
    return first if last in ("any", "all", "bool") and isinstance(first, ast.Call) else None
