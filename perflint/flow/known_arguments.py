"""What the parameters of a function mean in one call: kinds, constants and functions."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import reduce
from typing import TypeVar

from perflint.index.kinds import HOST, UNKNOWN, Kind, dict_of, entries_of, join, rest_of
from perflint.syntax.bindings import bindings_of
from perflint.syntax.names import dotted
from perflint.syntax.parameters import all_parameters, defaults_of, is_spread
from perflint.syntax.scopes import Scope

Handed = tuple[tuple[str, Kind], ...]
"""The kinds of a function's arguments, by parameter, in the order of the names."""

Told = tuple[tuple[str, ast.expr], ...]
"""The meaning of a function's parameters in its calls, in the order of the names."""

Values = TypeVar("Values")


def in_order(values: Mapping[str, Values]) -> tuple[tuple[str, Values], ...]:
    """Values by name in the order of the names, so that two mappings with the same ones have the same hash."""
    return tuple(sorted(values.items(), key=lambda item: item[0]))


def parameter_env(
    scope: Scope, arguments: list[Kind], keywords: dict[str, Kind], spread: list[Kind] | None = None
) -> dict[str, Kind]:
    """Kinds of a function's parameters for one call, including ``*args`` and ``**kwargs``."""
    env = dict(zip(scope.parameters, arguments, strict=False))
    args = scope.args
    names = {*all_parameters(scope)}
    named = {**keywords}
    for kind in spread or ():
        named.update({name: entry for name, entry in entries_of(kind).items() if name not in keywords})
    env.update({name: kind for name, kind in named.items() if name in names})
    extra = {name: kind for name, kind in named.items() if name not in names}
    if args.kwarg is not None and (extra or spread):
        env[args.kwarg.arg] = _keywords(extra, [rest_of(kind) for kind in spread or ()])
    if args.vararg is not None and len(arguments) > len(scope.parameters):
        env[args.vararg.arg] = reduce(join, arguments[len(scope.parameters) :])
    return env


def left_out(scope: Scope, call: ast.Call) -> dict[str, Kind]:
    """The kinds of the parameters that a call leaves at a default which is a number or a text."""
    if is_spread(call):
        return {}
    given = {*scope.parameters[: len(call.args)], *(keyword.arg for keyword in call.keywords)}
    constants = ((name, value) for name, value in defaults_of(scope).items() if isinstance(value, ast.Constant))
    return {name: HOST for name, value in constants if name not in given and value.value is not None}


def _keywords(named: Mapping[str, Kind], others: list[Kind]) -> Kind:
    """The kind of ``**kwargs``: a dict of these values, and of others with unknown names."""
    joined = reduce(join, [*named.values(), *others])
    is_followed = joined.is_tensor or any(kind.type for kind in named.values())
    return dict_of(named, reduce(join, others, UNKNOWN)) if is_followed else joined


_TELLING = (ast.Constant, ast.Compare, ast.BoolOp, ast.UnaryOp, ast.IfExp)
"""Expressions in arguments that may be a guard, or switch one off."""


def default_values(
    scope: Scope, call: ast.Call, definitions: Mapping[str, ast.expr] | None = None
) -> dict[str, ast.expr]:
    """What a function's parameters mean in a call: their constant defaults, or tests that are passed.

    Parameters that the function binds again are left out.

    Args:
        definitions: names of the caller that are bound once.
    """
    if is_spread(call):
        return {}
    handed = dict(zip(scope.parameters, call.args, strict=False))
    handed.update({keyword.arg: keyword.value for keyword in call.keywords if keyword.arg})
    known = definitions or {}
    told = {name: known.get(dotted(value) or "", value) for name, value in handed.items()}
    bound = bindings_of(scope)
    left = {
        name: value
        for name, value in defaults_of(scope).items()
        if name not in handed and isinstance(value, ast.Constant)
    }
    return {
        name: value
        for name, value in {**left, **told}.items()
        if name not in bound and (isinstance(value, _TELLING) or _is_modulo(value))
    }


def _is_modulo(node: ast.expr) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod)
