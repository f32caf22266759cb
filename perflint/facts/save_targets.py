"""Finds what a save writes to: a file on the disk, or memory of its own process."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from perflint.dataflow.values import Values
from perflint.syntax.names import dotted
from perflint.syntax.scopes import Scope

if TYPE_CHECKING:
    from perflint.index.project import FileIndex

PATH_POSITION = 1
"""The position of the path among the arguments of all calls that save."""
_KEYWORDS = frozenset({"path", "model_path"})


def targets_of(call: ast.Call) -> list[ast.expr]:
    """The arguments of a save that say where to: ``path`` in ``paddle.save(model.state_dict(), path)``."""
    named = (item.value for item in call.keywords if item.arg in _KEYWORDS)
    return [*call.args[PATH_POSITION : PATH_POSITION + 1], *named]


def writes_memory(call: ast.Call, file: FileIndex, scope: Scope) -> bool:
    """Whether a save writes to memory: ``paddle.save(weights, buffer)`` after ``buffer = io.BytesIO()``."""
    return any(_is_memory(target, file, scope) for target in targets_of(call))


def _is_memory(target: ast.expr, file: FileIndex, scope: Scope) -> bool:
    name = dotted(target)
    if name is None:
        return _makes_buffer(target, file)
    made = Values.of(file.project).definitions(file, scope).get(name)
    opened = (item for item in _opened(scope) if item.optional_vars is not None and dotted(item.optional_vars) == name)
    return _makes_buffer(made, file) or any(_makes_buffer(item.context_expr, file) for item in opened)


def _opened(scope: Scope) -> Iterator[ast.withitem]:
    """What the ``with`` statements of a function open: ``with io.BytesIO() as buffer:``."""
    for statement in scope.statements:
        if isinstance(statement.node, ast.With):
            yield from statement.node.items


def _makes_buffer(made: ast.expr | None, file: FileIndex) -> bool:
    return isinstance(made, ast.Call) and file.names.resolve(dotted(made.func) or "") == "io.BytesIO"
