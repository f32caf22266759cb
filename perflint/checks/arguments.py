"""What rules and the configuration ask of a call: what it reaches, and what its arguments are."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

import libcst as cst

from perflint.catalogue import NONZERO, ArgumentMatch
from perflint.checks import excuses
from perflint.configuration.settings import DeclaredCall
from perflint.dataflow.values import Values
from perflint.lint.context import Context, local_name


def callee(call: cst.Call, context: Context) -> str:
    """The qualified name of what a call reaches; ``paddle.device.current_stream().synchronize`` for a call on a call's
    result."""
    function = call.func
    if isinstance(function, cst.Attribute) and isinstance(function.value, cst.Call):
        owner = context.name(function.value.func)
        if owner:
            return f"{owner}().{function.attr.value}"
    return context.callee(call)


def find_argument(call: cst.Call, parameter: str, position: int | None) -> cst.Arg | None:
    """The argument for a parameter, by keyword or position."""
    for index, argument in enumerate(call.args):
        if argument.keyword is not None:
            if argument.keyword.value == parameter:
                return argument
        elif index == position:
            return argument
    return None


def is_bad(argument: cst.Arg, match: ArgumentMatch, context: Context) -> bool:
    """Whether an argument is a literal with one of the costly values, and no comment says why."""
    expression = context.expression(argument.value)
    if not isinstance(expression, ast.Constant) or excuses.explained(argument, match.unless_comment, context):
        return False
    value = expression.value
    if match.bad == NONZERO:
        return isinstance(value, (int, float)) and not isinstance(value, bool) and value != 0
    return (type(value), value) in typed(match.bad)


def typed(values: Any) -> list[tuple[type, Any]]:
    """Values with their types: ``False`` is not ``0`` here."""
    return [(type(value), value) for value in values]


def value_of(argument: cst.Arg, context: Context) -> tuple[type, Any] | None:
    """The type and the value of an argument that is a literal, or a name bound once to one."""
    expression = context.expression(argument.value)
    if isinstance(expression, ast.Name) and context.point is not None:
        expression = Values.of(context.file.project).definitions(context.file, context.here.scope).get(expression.id)
    return (type(expression.value), expression.value) if isinstance(expression, ast.Constant) else None


def declaration(call: cst.Call, table: Mapping[str, DeclaredCall], context: Context) -> DeclaredCall | None:
    """What a table of the configuration says of the function that a call reaches; None when it says nothing."""
    name = local_name(call.func) if table else ""
    point = context.point
    if not name or point is None:
        return None
    return Values.of(context.file.project).declared(table, context.file, point.scope, name, point.full_env)


def given(call: cst.Call, declared: DeclaredCall, context: Context) -> list[cst.Arg]:
    """The arguments that a declaration is about: the one it names, or all of them."""
    if not declared.parameter:
        return list(call.args)
    position, file, name = declared.position, context.file, local_name(call.func)
    if position is None:
        position = Values.of(file.project).place_of(file, context.here.scope, name, declared.parameter)
    found = find_argument(call, declared.parameter, position)
    if found is not None and not found.star:
        return [found]
    # A function whose code is not among the files: any of these may be the one.
    return [] if position is not None else [item for item in call.args if item.keyword is None and not item.star]
