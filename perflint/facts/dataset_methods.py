"""Finds the methods that create a dataset's samples, and the parts of a sample: ``return {"x": x}, label``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from perflint.index.hierarchy import Hierarchy
from perflint.query import query
from perflint.syntax import reaching
from perflint.syntax.bindings import loads_of
from perflint.syntax.names import dotted
from perflint.syntax.scopes import Scope, Statement

if TYPE_CHECKING:
    from perflint.index.project import FileIndex

_DATASET = "paddle.io.Dataset"
_DEEPEST = 6


@query
def sample_methods(file: FileIndex) -> tuple[Scope, ...]:
    """The ``__getitem__`` methods of the datasets that a file defines for training."""
    if not file.has_words("__getitem__") or file.is_quiet or file.is_foreign or file.is_offline:
        return ()
    base_names = Hierarchy.of(file.project).base_names
    return tuple(
        owner.methods["__getitem__"]
        for owner in file.scopes.classes.values()
        if "__getitem__" in owner.methods and _DATASET in base_names(file, owner)
    )


class SamplePart(NamedTuple):
    """An expression that is part of a sample, or all of it, with its statement.

    ``is_shared``: something else uses it before the ``return``: ``sample = self.transform(sample)``.
    """

    node: ast.expr
    statement: Statement
    is_shared: bool = False


def parts_of_samples(scope: Scope) -> Iterator[SamplePart]:
    """The expressions that a method puts into its samples; names are followed to their values."""
    for statement in scope.statements:
        if isinstance(statement.node, ast.Return) and statement.node.value is not None:
            yield from _parts(SamplePart(statement.node.value, statement), scope, 0)


def _parts(part: SamplePart, scope: Scope, depth: int) -> Iterator[SamplePart]:
    node = part.node
    if depth > _DEEPEST:
        return
    if isinstance(node, ast.Name):
        yield from _bound(part, node, scope, depth)
        return
    inner = _inside(node)
    if not inner:
        yield part
    for item in inner:
        yield from _parts(part._replace(node=item), scope, depth + 1)


def _bound(part: SamplePart, name: ast.Name, scope: Scope, depth: int) -> Iterator[SamplePart]:
    """The value of a name at a statement, and what is put into it: ``sample["x"] = x``, ``sample.append(x)``.

    For ``image, label = self.transform(image, label)``, each name has the call as its value.
    """
    for binding in reaching.before(name.id, part.statement, scope):
        node = binding.statement.node
        if isinstance(node, ast.Assign) and all(isinstance(target, ast.Name) for target in node.targets):
            is_shared = part.is_shared or _is_read(name.id, scope, binding.statement, part.statement)
            yield from _parts(SamplePart(node.value, binding.statement, is_shared), scope, depth + 1)
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            yield SamplePart(node.value, binding.statement, is_shared=True)
    for statement in scope.statements:
        for value in _put_into(name.id, statement.node):
            is_shared = part.is_shared or _is_read(name.id, scope, statement, part.statement)
            yield from _parts(SamplePart(value, statement, is_shared), scope, depth + 1)


def _is_read(name: str, scope: Scope, after: Statement, at: Statement) -> bool:
    """Whether anything below a statement reads a name, except for a ``return``, additions to it, and one place."""
    return any(
        statement.start > after.start
        and count > max(_returned(statement.node, name), statement is at)
        and not any(True for _ in _put_into(name, statement.node))
        for statement, count in loads_of(scope).get(name, ())
    )


def _returned(node: ast.stmt, name: str) -> int:
    """How often a statement returns the value of a name as a part of a sample: twice for ``return x, y, y``."""
    waiting, found = [node.value] if isinstance(node, ast.Return) and node.value is not None else [], 0
    while waiting:
        part = waiting.pop()
        found += isinstance(part, ast.Name) and part.id == name
        waiting += _inside(part)
    return found


def _inside(node: ast.expr) -> list[ast.expr]:
    """The parts of an expression: those of a tuple, a list, a dict, or a choice."""
    if isinstance(node, (ast.Tuple, ast.List)):
        return node.elts
    if isinstance(node, ast.Dict):
        return node.values
    if isinstance(node, ast.Call) and dotted(node.func) in ("dict", "tuple", "list"):
        return [*node.args, *(keyword.value for keyword in node.keywords)]
    return [node.body, node.orelse] if isinstance(node, ast.IfExp) else []


def _put_into(name: str, node: ast.stmt) -> Iterator[ast.expr]:
    if isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Subscript) and dotted(target.value) == name:
                yield node.value
    call = node.value if isinstance(node, ast.Expr) else None
    if isinstance(call, ast.Call) and dotted(call.func) == f"{name}.append":
        yield from call.args
