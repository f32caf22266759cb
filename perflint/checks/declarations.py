"""What the configuration declares of the function that a call reaches, and of which of its arguments."""

from __future__ import annotations

from collections.abc import Mapping

import libcst as cst

from perflint.configuration.settings import DeclaredCall
from perflint.dataflow.values import Values
from perflint.lint.context import Context, local_name


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
    position, point = declared.position, context.point
    if position is None and point is not None:
        position = Values.of(context.file.project).place_of(
            context.file, point.scope, local_name(call.func), declared.parameter
        )
    for index, argument in enumerate(call.args):
        if argument.keyword is not None and argument.keyword.value == declared.parameter:
            return [argument]
        if argument.keyword is None and not argument.star and index == position:
            return [argument]
    # A function whose code is not among the files: any of these may be the one.
    return [] if position is not None else [item for item in call.args if item.keyword is None and not item.star]
