"""Parameters of functions and arguments of calls: positions, defaults, and the argument for a parameter."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from perflint.syntax.bindings import bindings_of, targets_of
from perflint.syntax.names import dotted
from perflint.syntax.scopes import Scope
from perflint.syntax.tree import string_of


def is_zero(node: ast.expr) -> bool:
    """Whether an expression is the number 0."""
    return isinstance(node, ast.Constant) and type(node.value) is int and node.value == 0


def is_none(node: ast.expr) -> bool:
    """Whether an expression is ``None``, literally."""
    return isinstance(node, ast.Constant) and node.value is None


def arguments_of(call: ast.Call) -> list[ast.expr]:
    """All arguments of a call, positional and keyword."""
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def argument_of(call: ast.Call, name: str, position: int | None) -> ast.expr | None:
    """The argument that a call passes for a parameter, by keyword or position."""
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    if position is None or position >= len(call.args):
        return None
    given = call.args[: position + 1]
    return None if any(isinstance(item, ast.Starred) for item in given) else given[-1]


def argument_for(scope: Scope, call: ast.Call, parameter: str) -> ast.expr | None:
    """The expression that a call passes for a function's parameter; None if it is left out or unknown."""
    return argument_of(call, parameter, position_of(scope, parameter))


def is_spread(call: ast.Call) -> bool:
    """Whether a call unpacks a list or a dict: with ``*`` or ``**`` it can pass any parameter."""
    return any(isinstance(item, ast.Starred) for item in call.args) or any(item.arg is None for item in call.keywords)


def defaults_of(scope: Scope) -> dict[str, ast.expr]:
    """The defaults of a function's parameters, by name."""
    args = scope.args
    names = [arg.arg for arg in [*args.posonlyargs, *args.args]]
    defaults = dict(zip(names[len(names) - len(args.defaults) :], args.defaults, strict=True))
    by_keyword = zip(args.kwonlyargs, args.kw_defaults, strict=True)
    return defaults | {arg.arg: value for arg, value in by_keyword if value is not None}


def default_of(scope: Scope, name: str) -> ast.expr | None:
    """The default of a parameter, None if it has none."""
    return defaults_of(scope).get(name)


def annotation_of(scope: Scope, name: str) -> ast.expr | None:
    """The annotation of a parameter, None if it has none or there is no such parameter."""
    everything = [*scope.args.posonlyargs, *scope.args.args, *scope.args.kwonlyargs]
    return next((item.annotation for item in everything if item.arg == name), None)


def keyword_parameter(scope: Scope) -> str | None:
    """The name of a function's ``**kwargs``."""
    return scope.args.kwarg.arg if scope.args.kwarg is not None else None


def keyword_only(scope: Scope) -> list[str]:
    """The parameters that a function takes by keyword only."""
    return [arg.arg for arg in scope.args.kwonlyargs]


def position_of(scope: Scope, name: str) -> int | None:
    """The position of a parameter among the arguments of a call, None if it has none."""
    return scope.parameters.index(name) if name in scope.parameters else None


def all_parameters(scope: Scope) -> list[str]:
    """The names of a function's parameters, including keyword-only ones."""
    return [*scope.parameters, *keyword_only(scope)]


def required_parameters(scope: Scope) -> list[str]:
    """The parameters of a function that have a position and no default."""
    return scope.parameters[: len(scope.parameters) - len(scope.args.defaults)]


def fits(scope: Scope, call: ast.Call) -> bool:
    """Whether a function accepts the number and names of the arguments of a call."""
    args = scope.args
    if is_spread(call):
        return True
    named = {item.arg for item in call.keywords}
    if len(call.args) > len(scope.parameters) and args.vararg is None:
        return False
    if args.kwarg is None and not named <= {*all_parameters(scope)}:
        return False
    return all(name in named for name in required_parameters(scope)[len(call.args) :])


def changes(scope: Scope, name: str) -> bool:
    """Whether a function changes its ``**kwargs`` before it passes them on."""
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


# The entries of a dict that are written in the code.


@dataclass(frozen=True)
class Entries:
    """The entries of a dict, and the keys that are set later; ``complete``: there are no others."""

    values: Mapping[str, ast.expr]
    complete: bool
    changed: frozenset[str] = frozenset()


def written_entries(node: ast.expr) -> Entries | None:
    """The entries of ``{"a": A}`` or ``dict(a=A)``; None for anything else."""
    if isinstance(node, ast.Dict):
        keys = [string_of(key) if key is not None else None for key in node.keys]
        values = {key: value for key, value in zip(keys, node.values, strict=True) if key is not None}
        return Entries(values, None not in keys)
    if isinstance(node, ast.Call) and dotted(node.func) == "dict":
        values = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
        return Entries(values, not node.args and len(values) == len(node.keywords))
    return None
