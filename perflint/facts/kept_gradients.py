"""Finds whether the gradient of a tensor that a loop computes may be missed: it is returned, stored, or printed.

Under ``no_grad`` the same tensor has the same values, but its ``stop_gradient`` is True. So its gradient cannot be
computed later, and if it is printed, ``stop_gradient=True`` is printed with it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from perflint.facts.differentiated import CUTS, HOST_ATTRIBUTES
from perflint.syntax.names import dotted
from perflint.syntax.scopes import Loop, Scope, Statement
from perflint.syntax.tree import base_of, children, walk

if TYPE_CHECKING:
    from perflint.index.project import FileIndex

_RETURNS = "a tensor that the function returns has no gradient then, which a caller may ask for"
_KEEPS = "a tensor that it keeps in `{name}` has no gradient then"
_PRINTS = "a tensor that it prints says `stop_gradient=True` then"

_COUNTS = frozenset({"accuracy", "accumulate", "compute", "update"})
_FILLS = frozenset({"append", "extend", "insert", "add", "update", "setdefault"})
_SHOWS = frozenset({"print", "str", "repr"})
_LOGS = frozenset({"info", "debug", "warning", "error", "log", "write"})
_WHOLE = re.compile(r"%[sr]")
_MOST_ROUNDS = 5
"""How often names are followed through the statements of a loop; each round follows one more link of a chain."""


def kept_gradient(file: FileIndex, scope: Scope, loop: Loop, calls: Iterable[ast.Call]) -> str:
    """Why a gradient of the values of a loop may be missed; ``""`` if it cannot.

    Args:
        calls: the calls in the loop whose results have gradients.
    """
    found = _Followed(file, scope, loop, frozenset(calls))
    return next(found.reasons(), "")


def is_printed(file: FileIndex, scope: Scope, name: str) -> bool:
    """Whether a scope prints the value of a name itself, not only a number of it."""
    question = is_printed, file.names  # to distinguish NumPy's functions from others
    return name in scope.once(question, lambda: _Followed(file, scope, None, frozenset()).shown())


class _Followed:
    """The names of a scope that have a tensor with a gradient, from the loop on."""

    def __init__(self, file: FileIndex, scope: Scope, loop: Loop | None, calls: frozenset[ast.Call]) -> None:
        self._file = file
        self._calls = calls
        self._parameters = {argument.arg for argument in walk(scope.node) if isinstance(argument, ast.arg)}
        first = loop.lineno if loop is not None else 0
        self._statements = [item for item in scope.statements if item.node.lineno >= first]
        around = next((item for item in self._statements if item.node is loop), None)
        self._around = {id(loop)} | ({id(link.node) for link in around.around} if around is not None else set())
        self._names: set[str] = set()

    def reasons(self) -> Iterator[str]:
        """The reasons, in the order of the statements."""
        carried: set[str] = set()
        for _ in range(_MOST_ROUNDS):  # what one iteration leaves behind exists in the next
            self._names = set(carried)
            for statement in self._statements:
                self._follow(statement)
            if self._names <= carried:
                break
            carried |= self._names
        self._names = carried
        for statement in self._statements:
            yield from self._reasons_at(statement)
            self._follow(statement)

    def shown(self) -> frozenset[str]:
        """The names whose values a statement prints."""
        return frozenset(
            name
            for statement in self._statements
            for header in _own(statement.node)
            for item in walk(header)
            for value in _printed(item)
            for name in self._holding(value)
            if isinstance(name, str)
        )

    def _reasons_at(self, statement: Statement) -> Iterator[str]:
        node = statement.node
        for item in (part for header in _own(node) for part in walk(header)):
            if self._shows(item):
                yield _PRINTS
            if isinstance(item, (ast.Yield, ast.YieldFrom)) and item.value is not None and self._carries(item.value):
                yield _RETURNS
        if isinstance(node, ast.Return) and node.value is not None and self._carries(node.value):
            yield _RETURNS
        kept = self._kept(statement)
        if kept is not None:
            yield _KEEPS.format(name=kept)

    def _follow(self, statement: Statement) -> None:
        for target, value in _assigned(statement.node):
            if self._carries(value):
                self._names |= set(_bases(target))
            elif (
                isinstance(target, ast.Name) and isinstance(statement.node, ast.Assign) and self._always_runs(statement)
            ):
                self._names.discard(target.id)
        for call in statement.calls:
            if isinstance(call.func, ast.Attribute) and call.func.attr in _FILLS and any(map(self._carries, call.args)):
                self._names |= set(_bases(call.func.value))

    def _always_runs(self, statement: Statement) -> bool:
        """Whether a statement runs in each iteration of the loop, or always after it."""
        return all(id(link.node) in self._around or isinstance(link.node, ast.With) for link in statement.around)

    def _kept(self, statement: Statement) -> str | None:
        """Where a tensor is stored that exists after the function: an attribute, or an argument's items."""
        for target, value in _assigned(statement.node):
            if isinstance(target, (ast.Attribute, ast.Subscript)) and self._carries(value) and self._outlives(target):
                return ast.unparse(target)
        for call in statement.calls:
            filled = call.func.value if isinstance(call.func, ast.Attribute) and call.func.attr in _FILLS else None
            fills = call.func.attr if isinstance(call.func, ast.Attribute) else ""
            if filled is None or fills == "update" or not any(map(self._carries, call.args)):
                continue  # (a metric has an `update` too, but stores numbers)
            if self._outlives(filled):
                return ast.unparse(filled)
        return None

    def _outlives(self, target: ast.expr) -> bool:
        base = base_of(target)
        if isinstance(base, ast.Attribute):
            return True
        return isinstance(base, ast.Name) and base.id in self._parameters

    def _carries(self, node: ast.expr) -> bool:
        """Whether the value of an expression is, or contains, a tensor with a gradient."""
        return any(item in self._names or item in self._calls for item in self._holding(node))

    def _holding(self, node: ast.expr) -> Iterator[str | ast.AST]:
        """The names and calls whose results the value of an expression is, or contains."""
        waiting: list[ast.AST] = [node]
        while waiting:
            item = waiting.pop()
            if isinstance(item, ast.Call):
                yield item
            if isinstance(item, ast.Name):
                yield item.id
            elif isinstance(item, ast.Attribute):
                name = dotted(item)
                if name is not None:
                    yield name
                waiting += [] if item.attr in HOST_ATTRIBUTES else [item.value]
            elif isinstance(item, ast.Call):
                waiting += [] if self._is_cut(item) else children(item)
            elif not isinstance(item, (ast.Compare, ast.JoinedStr)):
                waiting += children(item)

    def _is_cut(self, call: ast.Call) -> bool:
        last = call.func.attr if isinstance(call.func, ast.Attribute) else dotted(call.func) or ""
        if last in CUTS or last in _COUNTS:
            return True
        name = dotted(call.func)
        return name is not None and self._file.names.resolve(name).startswith("numpy.")

    def _shows(self, item: ast.AST) -> bool:
        """Whether a tensor itself is converted to text."""
        return any(map(self._carries, _printed(item)))


def _printed(item: ast.AST) -> list[ast.expr]:
    """The values that are converted to text directly: ``print(p)``, ``"%s" % p``, ``f"{p}"``."""
    if isinstance(item, ast.FormattedValue):
        return [item.value] if item.format_spec is None else []
    if isinstance(item, ast.BinOp) and isinstance(item.op, ast.Mod):
        text = item.left.value if isinstance(item.left, ast.Constant) else None
        return [item.right] if isinstance(text, str) and _WHOLE.search(text) else []
    if not isinstance(item, ast.Call):
        return []
    name = dotted(item.func) or ""
    logs = isinstance(item.func, ast.Attribute) and item.func.attr in _LOGS
    made = isinstance(item.func, ast.Attribute) and item.func.attr == "format"
    return item.args if name in _SHOWS or logs or made else []


def _own(node: ast.stmt) -> list[ast.AST]:
    return [child for child in children(node) if not isinstance(child, (ast.stmt, ast.ExceptHandler))]


def _assigned(node: ast.stmt) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The targets of a statement, each with its value, part by part if both are tuples."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield from _pairs(target, node.value)
    elif isinstance(node, (ast.AnnAssign, ast.AugAssign)) and node.value is not None:
        yield node.target, node.value
    elif isinstance(node, (ast.For, ast.AsyncFor)):
        yield node.target, node.iter


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    tuples = (ast.Tuple, ast.List)
    if isinstance(target, tuples) and isinstance(value, tuples) and len(target.elts) == len(value.elts):
        for part, item in zip(target.elts, value.elts, strict=True):
            yield from _pairs(part, item)
    else:
        yield target, value


def _bases(target: ast.expr) -> Iterator[str]:
    """The names that a target binds or puts something into: ``logs`` of ``logs["loss"]``."""
    if isinstance(target, (ast.Tuple, ast.List)):
        for part in target.elts:
            yield from _bases(part)
        return
    while isinstance(target, (ast.Subscript, ast.Starred)):
        target = target.value
    name = dotted(target)
    if name is not None:
        yield name
