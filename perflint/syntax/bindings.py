"""What names are bound to: once in a scope, or by the arguments and defaults of one call."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from perflint.index.kinds import Kind, join
from perflint.syntax.names import dotted
from perflint.syntax.scopes import Scope, Statement, own_parts
from perflint.syntax.tree import walk

Handed = tuple[tuple[str, Kind], ...]
"""The kinds of what a function is handed, by parameter, in the order of their names."""

Told = tuple[tuple[str, ast.expr], ...]
"""What a function's parameters stand for in the calls of it, in the order of their names."""

Values = TypeVar("Values")


def in_order(values: Mapping[str, Values]) -> tuple[tuple[str, Values], ...]:
    """Values by name in the order of the names, so that two mappings with the same ones have the same hash."""
    return tuple(sorted(values.items(), key=lambda item: item[0]))


def definitions_of(scope: Scope) -> dict[str, ast.expr]:
    """Names that a scope binds exactly once, with the expression, for guards that are computed beforehand.

    A flag that is bound to a constant first and to its opposite under one test stands for that test.
    """
    found: dict[str, list[_Binding]] = {}
    for statement in scope.statements:
        for name, value in _bindings(statement.node):
            found.setdefault(name, []).append(_Binding(value, statement))
    defined = {name: _definition(bindings) for name, bindings in found.items()}
    return {name: value for name, value in defined.items() if value is not None}


@dataclass(frozen=True)
class _Binding:
    value: ast.expr | None
    statement: Statement


def _definition(bindings: list[_Binding]) -> ast.expr | None:
    if len(bindings) == 1:
        return bindings[0].value
    if len(bindings) != 2:
        return None
    first, second = (binding.value for binding in bindings)
    place = bindings[1].statement.place
    if not isinstance(first, ast.Constant) or not isinstance(second, ast.Constant) or place is None:
        return None
    if bool(first.value) == bool(second.value) or not isinstance(place.node, ast.If) or place.branch != "body":
        return None
    if place.parent is not bindings[0].statement.place:
        return None
    return place.node.test if second.value else ast.UnaryOp(ast.Not(), place.node.test)


def _bindings(node: ast.stmt) -> Iterator[tuple[str, ast.expr | None]]:
    """The names a statement binds, each with the expression (None: it cannot be told)."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield from _pairs(target, node.value)
    elif isinstance(node, ast.AnnAssign):
        yield from _pairs(node.target, node.value)
    elif isinstance(node, (ast.AugAssign, ast.For, ast.AsyncFor)):
        yield from _pairs(node.target, None)
    elif isinstance(node, (ast.If, ast.While)):
        for item in walk(node.test):
            if isinstance(item, ast.NamedExpr):
                yield from _pairs(item.target, item.value)


def _pairs(target: ast.expr, value: ast.expr | None) -> Iterator[tuple[str, ast.expr | None]]:
    if isinstance(target, (ast.Tuple, ast.List)):
        values: list[ast.expr | None] = [None] * len(target.elts)
        if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts):
            values = list(value.elts)
        for part, item in zip(target.elts, values, strict=True):
            yield from _pairs(part, item)
        return
    name = dotted(target)
    if name:
        yield name, value


def bound_by(node: ast.stmt) -> list[str]:
    """The dotted names that a statement assigns to."""
    if isinstance(node, ast.Assign):
        return [name for target in node.targets for name in _bound_names(target)]
    if isinstance(node, (ast.AnnAssign, ast.AugAssign, ast.For, ast.AsyncFor)):
        return _bound_names(node.target)
    return []


def bindings_of(scope: Scope) -> dict[str, list[Statement]]:
    """The statements of a scope that assign to a name, in order, by the dotted name (``self.step`` too)."""
    return scope.once(bindings_of, lambda: _by_name(scope))


def _by_name(scope: Scope) -> dict[str, list[Statement]]:
    found: dict[str, list[Statement]] = {}
    for statement in scope.statements:
        for name in dict.fromkeys(bound_by(statement.node)):
            found.setdefault(name, []).append(statement)
    return found


def loads_of(scope: Scope) -> dict[str, list[tuple[Statement, int]]]:
    """The statements of a scope that read a name, in order, each with how often it does so itself, by that name."""
    return scope.once(loads_of, lambda: _loads(scope))


def _loads(scope: Scope) -> dict[str, list[tuple[Statement, int]]]:
    found: dict[str, list[tuple[Statement, int]]] = {}
    for statement in scope.statements:
        counts = Counter(
            item.id
            for part in own_parts(statement.node)
            for item in walk(part)
            if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Load)
        )
        for name, count in counts.items():
            found.setdefault(name, []).append((statement, count))
    return found


def targets_of(node: ast.stmt) -> list[ast.expr]:
    """What an assignment or a ``del`` writes to, as it stands; nothing for any other statement."""
    if isinstance(node, (ast.Assign, ast.Delete)):
        return node.targets
    return [node.target] if isinstance(node, (ast.AnnAssign, ast.AugAssign)) else []


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


_TELLING = (ast.Constant, ast.Compare, ast.BoolOp, ast.UnaryOp, ast.IfExp)
"""Arguments that may be a guard, or switch one off."""


def default_values(
    scope: Scope, call: ast.Call, definitions: Mapping[str, ast.expr] | None = None
) -> dict[str, ast.expr]:
    """What a call makes a function's parameters stand for: its constant defaults, and the tests it is handed.

    Parameters that the function binds again are left out.

    Args:
        definitions: names of the caller that are bound once.
    """
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
    handed = dict(zip(scope.parameters, call.args, strict=False))
    handed.update({keyword.arg: keyword.value for keyword in call.keywords if keyword.arg})
    known = definitions or {}
    told = {name: known.get(dotted(value) or "", value) for name, value in handed.items()}
    bound = bindings_of(scope)
    left = {name: value for name, value in defaults.items() if name not in handed and isinstance(value, ast.Constant)}
    return {
        name: value
        for name, value in {**left, **told}.items()
        if name not in bound and (isinstance(value, _TELLING) or _is_modulo(value))
    }


def _is_modulo(node: ast.expr) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod)
