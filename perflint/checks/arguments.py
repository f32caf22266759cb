"""What a declarative rule asks of a call: what it reaches, and what its arguments are."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

import libcst as cst

from perflint.catalogue import NONZERO, ArgumentMatch
from perflint.checks import excuses
from perflint.dataflow.values import Values
from perflint.lint.context import Context


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
        bound: Mapping[str, ast.expr] = Values.of(context.file.project).definitions(context.file, context.point.scope)
        expression = bound.get(expression.id)
    return (type(expression.value), expression.value) if isinstance(expression, ast.Constant) else None
