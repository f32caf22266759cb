"""Arguments of calls and parameters of functions, as they are written."""

from __future__ import annotations

import ast

from perflint.syntax.bindings import bindings_of, targets_of
from perflint.syntax.names import dotted
from perflint.syntax.scopes import Scope


def is_zero(node: ast.expr) -> bool:
    """Whether an expression is the number 0."""
    return isinstance(node, ast.Constant) and type(node.value) is int and node.value == 0


def argument_of(call: ast.Call, name: str, position: int | None) -> ast.expr | None:
    """What a call gives a parameter by keyword or by position."""
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    if position is None or position >= len(call.args):
        return None
    given = call.args[: position + 1]
    return None if any(isinstance(item, ast.Starred) for item in given) else given[-1]


def default_of(scope: Scope, name: str) -> ast.expr | None:
    """The default of a parameter."""
    if isinstance(scope.node, ast.Module):
        return None
    args = scope.node.args
    positional = [*args.posonlyargs, *args.args]
    pairs = [*zip(positional[len(positional) - len(args.defaults) :], args.defaults, strict=True)]
    pairs += [(arg, value) for arg, value in zip(args.kwonlyargs, args.kw_defaults, strict=True) if value is not None]
    return next((value for arg, value in pairs if arg.arg == name), None)


def keyword_parameter(scope: Scope) -> str | None:
    """The name of a function's ``**kwargs``."""
    if isinstance(scope.node, ast.Module) or scope.node.args.kwarg is None:
        return None
    return scope.node.args.kwarg.arg


def keyword_only(scope: Scope) -> list[str]:
    """The parameters that a function takes by keyword alone."""
    return [] if isinstance(scope.node, ast.Module) else [arg.arg for arg in scope.node.args.kwonlyargs]


def position_of(scope: Scope, name: str) -> int | None:
    """The place of a parameter among the arguments of a call, None for one without a place."""
    return scope.parameters.index(name) if name in scope.parameters else None


def changes(scope: Scope, name: str) -> bool:
    """Whether a function changes its ``**kwargs`` before it hands them on."""
    if name in bindings_of(scope):
        return True
    for statement in scope.statements:
        written = targets_of(statement.node)
        if any(isinstance(item, ast.Subscript) and dotted(item.value) == name for item in written):
            return True
        for call in statement.calls:
            if isinstance(call.func, ast.Attribute) and dotted(call.func.value) == name and call.func.attr != "get":
                return True
    return False
