"""What names are bound to: once in a scope, or by the arguments and defaults of one call."""

from __future__ import annotations

import ast

from perflint.index.kinds import Kind, join
from perflint.index.names import dotted
from perflint.index.scopes import Scope


def definitions_of(scope: Scope) -> dict[str, ast.expr]:
    """Names that a scope binds exactly once, with the expression, for guards that are computed beforehand."""
    found: dict[str, ast.expr] = {}
    twice: set[str] = set()
    for statement in scope.statements:
        node = statement.node
        targets: list[ast.expr] = []
        value: ast.expr | None = None
        if isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        elif isinstance(node, ast.AnnAssign):
            targets, value = [node.target], node.value
        elif isinstance(node, (ast.AugAssign, ast.For, ast.AsyncFor)):
            targets = [node.target]
        for target in targets:
            for name in _bound_names(target):
                if value is None or name in found or name in twice or isinstance(target, (ast.Tuple, ast.List)):
                    twice.add(name)
                    found.pop(name, None)
                else:
                    found[name] = value
    return found


def bound_by(node: ast.stmt) -> list[str]:
    """The dotted names that a statement assigns to."""
    if isinstance(node, ast.Assign):
        return [name for target in node.targets for name in _bound_names(target)]
    if isinstance(node, (ast.AnnAssign, ast.AugAssign, ast.For, ast.AsyncFor)):
        return _bound_names(node.target)
    return []


def _bound_names(target: ast.expr) -> list[str]:
    if isinstance(target, (ast.Tuple, ast.List)):
        return [name for part in target.elts for name in _bound_names(part)]
    name = dotted(target)
    return [name] if name else []


def parameter_env(
    scope: Scope, arguments: list[Kind], keywords: dict[str, Kind], spread: list[Kind] | None = None
) -> dict[str, Kind]:
    """Kinds of a function's parameters for one call, ``*args`` and ``**kwargs`` included."""
    env = dict(zip(scope.parameters, arguments, strict=False))
    if isinstance(scope.node, ast.Module):
        return env
    args = scope.node.args
    names = {*scope.parameters, *(arg.arg for arg in args.kwonlyargs)}
    extra = [kind for name, kind in keywords.items() if name not in names] + list(spread or [])
    env.update({name: kind for name, kind in keywords.items() if name in names})
    if args.kwarg is not None and extra:
        result = extra[0]
        for kind in extra[1:]:
            result = join(result, kind)
        env[args.kwarg.arg] = result
    if args.vararg is not None and len(arguments) > len(scope.parameters):
        rest = arguments[len(scope.parameters) :]
        result = rest[0]
        for kind in rest[1:]:
            result = join(result, kind)
        env[args.vararg.arg] = result
    return env


def default_values(scope: Scope, call: ast.Call) -> dict[str, ast.expr]:
    """Parameters that a call leaves at a constant default and that the function does not bind again."""
    if isinstance(scope.node, ast.Module) or any(keyword.arg is None for keyword in call.keywords):
        return {}
    if any(isinstance(argument, ast.Starred) for argument in call.args):
        return {}
    args = scope.node.args
    positional = [arg.arg for arg in [*args.posonlyargs, *args.args]]
    defaults = dict(zip(positional[len(positional) - len(args.defaults) :], args.defaults, strict=True))
    defaults.update(
        {arg.arg: value for arg, value in zip(args.kwonlyargs, args.kw_defaults, strict=True) if value is not None}
    )
    given = {*scope.parameters[: len(call.args)], *(keyword.arg for keyword in call.keywords)}
    bound = {name for statement in scope.statements for name in bound_by(statement.node)}
    return {
        name: value
        for name, value in defaults.items()
        if isinstance(value, ast.Constant) and name not in given and name not in bound
    }
