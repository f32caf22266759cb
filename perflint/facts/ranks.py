"""Finds rank tests: code that makes a place run in only one process of a distributed program."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from perflint.dataflow.call_graph import CallGraph, Certainty
from perflint.dataflow.values import Values
from perflint.index.part import Part
from perflint.syntax.names import dotted
from perflint.syntax.scopes import Place, Scope, Statement, headers
from perflint.syntax.tree import children, walk
from perflint.syntax.vocabulary import counts_processes, differs_between_processes, means_rank

if TYPE_CHECKING:
    from perflint.index.project import FileIndex, Project

_DECORATORS = frozenset({"staticmethod", "classmethod", "property", "no_grad", "wraps", "lru_cache", "cache"})
_ANSWERS = (ast.Call, ast.Compare, ast.BoolOp, ast.UnaryOp, ast.Name, ast.Attribute, ast.IfExp, ast.Subscript)
_READS = frozenset({"int", "bool", "get", "getenv", "getattr"})
_MAX_DEPTH = 3


class Ranks(Part):
    """Decides which places of a project run in one process of several, and which paths contain the rank."""

    def __init__(self, project: Project) -> None:
        super().__init__(project)
        self._busy: set[tuple[Scope, str]] = set()

    def guarded(self, statement: Statement, call: ast.Call, scope: Scope, file: FileIndex) -> bool:
        """Whether a rank test is around a call in its function."""
        for test, truth in _tests(statement.place):
            if self._tells_rank(test, scope, file) or self._is_single(test, truth):
                return True
        for header in headers(statement.node):
            for item in walk(header):
                if not isinstance(item, (ast.IfExp, ast.BoolOp, ast.Lambda)) or not _holds(item, call):
                    continue
                if isinstance(item, ast.Lambda) or self._tells_rank(item, scope, file):
                    return True
        return any(_names_rank(item, False) for item in _contexts(statement.place))

    def decorated(self, scope: Scope) -> bool:
        """Whether a decorator may keep a function to one rank: any decorator that is not known to be harmless."""
        if isinstance(scope.node, ast.Module):
            return False
        names = [dotted(d.func if isinstance(d, ast.Call) else d) or "?" for d in scope.node.decorator_list]
        return any(name.rpartition(".")[2] not in _DECORATORS for name in names)

    def is_per_rank(self, node: ast.expr, scope: Scope, file: FileIndex, depth: int = 0) -> bool:
        """Whether a path contains the rank, so that each process writes its own file."""
        for item in walk(node):
            text = item.value if isinstance(item, ast.Constant) else _identifier(item)
            if isinstance(text, str) and differs_between_processes(text):
                return True
        return depth < _MAX_DEPTH and any(
            self.is_per_rank(value, there, origin, depth + 1)
            for value, there, origin in self._meanings(node, scope, file)
        )

    def _tells_rank(self, node: ast.expr, scope: Scope, file: FileIndex, depth: int = 0) -> bool:
        if _names_rank(node, depth > 0):
            return True
        if depth >= _MAX_DEPTH or isinstance(node, (ast.BinOp, ast.JoinedStr)):
            return False
        if depth and isinstance(node, ast.Call) and (dotted(node.func) or "").rpartition(".")[2] not in _READS:
            return self._asks_rank(node, scope, file)
        if any(
            self._tells_rank(value, there, origin, depth + 1)
            for value, there, origin in self._meanings(node, scope, file)
            if isinstance(value, _ANSWERS)
        ):
            return True
        return any(self._asks_rank(call, scope, file) for call in walk(node) if isinstance(call, ast.Call))

    def _asks_rank(self, call: ast.Call, scope: Scope, file: FileIndex) -> bool:
        """``if should_save():`` if that function of the project tests the rank."""
        name = dotted(call.func)
        found = Values.of(self._project).callee(file, scope, name, {}) if name else None
        if found is None or len(found[1].statements) > 20:
            return False
        return any(
            _names_rank(header, False) for statement in found[1].statements for header in headers(statement.node)
        )

    def _meanings(self, node: ast.expr, scope: Scope, file: FileIndex) -> Iterator[tuple[ast.expr, Scope, FileIndex]]:
        """The values of the names in an expression: here, in the class, or by the callers."""
        for item in walk(node):
            name = dotted(item) if isinstance(item, (ast.Name, ast.Attribute)) else None
            if name is None:
                continue
            yield from ((value, scope, file) for value in _assigned(scope, name))
            first, _, rest = name.partition(".")
            if first == "self" and scope.owner is not None:
                yield from ((value, where, file) for value, where in scope.owner.attributes.get(rest, ())[:8])
            if name in scope.parameters and (scope, name) not in self._busy:
                self._busy.add((scope, name))
                yield from self._arguments(name, scope, file)
                self._busy.discard((scope, name))

    def _arguments(self, name: str, scope: Scope, file: FileIndex) -> Iterator[tuple[ast.expr, Scope, FileIndex]]:
        for site in CallGraph.of(self._project).calls(file, scope, Certainty.NAME):
            argument = site.argument(scope, name)
            if argument is not None and not isinstance(argument, ast.Constant):
                yield argument, site.scope, site.file

    def _is_single(self, test: ast.expr, truth: bool) -> bool:
        """Whether a branch runs only in a program of one process: ``if nranks > 1: ... else: here``."""
        if not isinstance(test, ast.Compare) or len(test.ops) != 1:
            return False
        if not any(counts_processes(_identifier(item) or "") for item in walk(test.left)):
            return False
        return isinstance(test.ops[0], (ast.Lt, ast.LtE, ast.Eq)) == truth


def facts(place: Place | None) -> frozenset[tuple[str, bool]]:
    """The tests around a place: their text, and whether they are true there."""
    found: set[tuple[str, bool]] = set()
    for test, truth in _tests(place):
        while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            test, truth = test.operand, not truth
        found.add((ast.dump(test), truth))
    return frozenset(found)


def contradict(one: frozenset[tuple[str, bool]], other: frozenset[tuple[str, bool]]) -> bool:
    """Whether two places of a function exclude each other: ``if distributed:`` and the ``else`` of another."""
    return any((test, not truth) in other for test, truth in one)


def _tests(place: Place | None) -> Iterator[tuple[ast.expr, bool]]:
    for link in place.chain() if place is not None else ():
        if isinstance(link.node, (ast.If, ast.While)):
            yield link.node.test, link.branch == "body"


def _contexts(place: Place | None) -> Iterator[ast.expr]:
    for link in place.chain() if place is not None else ():
        if isinstance(link.node, (ast.With, ast.AsyncWith)):
            yield from (item.context_expr for item in link.node.items)


def _names_rank(node: ast.expr, bound: bool) -> bool:
    """Whether an expression names the rank; a value is not a rank only because it got one as an argument."""
    stack: list[ast.AST] = [node]
    while stack:
        item = stack.pop()
        text = item.value if isinstance(item, ast.Constant) else _identifier(item)
        if isinstance(text, str) and means_rank(text):
            return True
        if bound and isinstance(item, ast.Call) and (dotted(item.func) or "").rpartition(".")[2] not in _READS:
            stack.append(item.func)
        else:
            stack.extend(children(item))
    return False


def _identifier(node: ast.AST) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else None


def _holds(node: ast.AST, call: ast.Call) -> bool:
    return any(call is part for part in walk(node))


def _assigned(scope: Scope, name: str) -> Iterator[ast.expr]:
    for statement in scope.statements:
        node = statement.node
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, (ast.AugAssign, ast.AnnAssign)):
            targets = [node.target]
        value = getattr(node, "value", None)
        if isinstance(value, ast.expr) and any(dotted(target) == name for target in targets):
            yield value
