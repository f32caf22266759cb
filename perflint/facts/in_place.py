"""Finds whether the rest of a loop may change a tensor in place, or one that shares its memory, as by `.detach()`."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from perflint.dataflow.dispatch import Dispatch
from perflint.facts.accumulators import ScopeUses
from perflint.index.project import FileIndex
from perflint.query import query
from perflint.syntax.bindings import bindings_of
from perflint.syntax.names import dotted
from perflint.syntax.parameters import all_parameters, arguments_of
from perflint.syntax.scopes import LOOPS, Loop, Scope

_WRITES = frozenset({"set_value", "copy_", "fill_", "set_data", "__setitem__", "data"})
_SHARE = frozenset(
    {"detach", "cpu", "cuda", "astype", "cast", "reshape", "squeeze", "unsqueeze", "flatten", "view", "expand", "clone"}
)
"""Methods whose result may share the memory."""

_ONLY_LOOK = frozenset(
    {
        "print",
        "float",
        "int",
        "bool",
        "str",
        "repr",
        "format",
        "len",
        "isinstance",
        "type",
        "round",
        "abs",
        "sum",
        "max",
    }
    | {"min", "hasattr", "id"}
)
_ONLY_LOOK_METHODS = frozenset({"scale", "minimize", "format", "info", "debug", "warning", "error", "backward"})
"""Methods of other objects that take a loss and do not change it."""


def may_change(tensor: ast.expr, loop: Loop, scope: ScopeUses) -> bool:
    """Whether the memory of a tensor may be written to after an expression in a loop has returned it.

    False for the result of arithmetic, which nothing else shares, and for a name that each step binds to the result of
    a call, and that the loop then only reads: calls methods such as ``mean``, computes with it, or prints it.

    Args:
        tensor: the expression, ``loss`` of ``losses.append(loss.item())``.
    """
    if isinstance(tensor, (ast.BinOp, ast.UnaryOp)):
        return False
    if not isinstance(tensor, ast.Name):
        return True
    inside = (
        use for use in scope.by_name.get(tensor.id, ()) if use.statement.node is loop or use.statement.is_in(loop)
    )
    return any(_changes(use.node, use.parents, scope) for use in inside)


def _changes(node: ast.Name, parents: Sequence[ast.AST], scope: ScopeUses) -> bool:
    if isinstance(node.ctx, ast.Store):
        return not _is_fresh(parents, scope)
    if isinstance(node.ctx, ast.Del):
        return False
    return _handed_on(node, parents, scope.file)


def _is_fresh(parents: Sequence[ast.AST], scope: ScopeUses) -> bool:
    """Whether the statement that binds a name gives it a separate tensor: ``loss, output = step(x)``."""
    statement = parents[0]
    if isinstance(statement, ast.AugAssign):
        return True
    if not isinstance(statement, (ast.Assign, ast.AnnAssign)):
        return False
    if isinstance(statement.value, ast.Call):
        dispatch = Dispatch.of(scope.file.project)
        targets = dispatch.targets_by_names(scope.file, scope.scope, statement.value)
        return not any(target.sure and _returns_what_it_keeps(target.file, target.scope) for target in targets)
    return isinstance(statement.value, (ast.BinOp, ast.UnaryOp))


@query
def _returns_what_it_keeps(_: FileIndex, scope: Scope) -> bool:
    """Whether a function returns a tensor that something else has, too: a parameter, ``self.loss``, a global name."""
    returned = [item.node.value for item in scope.statements if isinstance(item.node, ast.Return) and item.node.value]
    parts = (part for value in returned for part in (value.elts if isinstance(value, ast.Tuple) else [value]))
    own = bindings_of(scope).keys() - set(all_parameters(scope))
    return any(isinstance(part, ast.Attribute) or (isinstance(part, ast.Name) and part.id not in own) for part in parts)


def _handed_on(node: ast.expr, parents: Sequence[ast.AST], file: FileIndex) -> bool:
    """Whether the code around a tensor may write to its memory, or passes it to something that may."""
    for index in reversed(range(len(parents))):
        parent = parents[index]
        if isinstance(parent, ast.Attribute):
            called = index > 0 and isinstance(parents[index - 1], ast.Call)
            if parent.attr.endswith("_") and not parent.attr.endswith("__"):
                return True
            if parent.attr in _WRITES or not (called or isinstance(parent.ctx, ast.Load)):
                return True
            if parent.attr not in _SHARE:
                return False
        elif isinstance(parent, ast.Call):
            if node in arguments_of(parent):
                return not _only_looks(parent, file)
        elif isinstance(parent, (ast.BinOp, ast.UnaryOp, ast.Compare, ast.FormattedValue, ast.AugAssign)):
            return False
        elif not isinstance(parent, ast.keyword):
            return not isinstance(parent, (ast.If, ast.While, ast.Assert, ast.Expr, *LOOPS))
        if isinstance(parent, ast.expr):
            node = parent
    return False


def _only_looks(call: ast.Call, file: FileIndex) -> bool:
    name = dotted(call.func)
    if name in _ONLY_LOOK:
        return True
    qualified = file.names.resolve(name) if name else ""
    if qualified.startswith("paddle."):
        return not qualified.startswith("paddle.distributed.") and not qualified.endswith("_") and not _writes_to(call)
    return isinstance(call.func, ast.Attribute) and call.func.attr in _ONLY_LOOK_METHODS


def _writes_to(call: ast.Call) -> bool:
    return any(keyword.arg in ("out", "output") for keyword in call.keywords)
