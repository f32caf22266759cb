"""Calls that the configuration declares: host reads (PPF201), and what log_family and the checkpoint rule ask for."""

from __future__ import annotations

from collections.abc import Mapping

import libcst as cst

from perflint.checks import guard, rarer
from perflint.context import Context, local_name
from perflint.registry import check, declares
from perflint.settings import DeclaredCall

SYNC = "PPF201"

declares(SYNC, "sync_calls")


def declaration(call: cst.Call, table: Mapping[str, DeclaredCall], context: Context) -> DeclaredCall | None:
    """What a table of the configuration says of the function that a call reaches; None when it says nothing."""
    name = local_name(call.func) if table else ""
    point = context.point
    if not name or point is None:
        return None
    return context.file.project.declared(table, context.file, point.scope, name, point.full_env)


def given(call: cst.Call, declared: DeclaredCall, context: Context) -> list[cst.Arg]:
    """The arguments that a declaration is about: the one it names, or all of them."""
    if not declared.parameter:
        return list(call.args)
    position, point = declared.position, context.point
    if position is None and point is not None:
        position = context.file.project.place_of(context.file, point.scope, local_name(call.func), declared.parameter)
    for index, argument in enumerate(call.args):
        if argument.keyword is not None and argument.keyword.value == declared.parameter:
            return [argument]
        if argument.keyword is None and not argument.star and index == position:
            return [argument]
    # A function whose code is not among the files: any of these may be the one.
    return [] if position is not None else [item for item in call.args if item.keyword is None and not item.star]


@check("Call")
def declared_sync(call: cst.Call, context: Context) -> None:
    """Report a call at each step that the configuration declares to wait for the device."""
    step = context.step
    if step is None or context.claimed:
        return
    declared = declaration(call, context.settings.sync_calls, context)
    if declared is None:
        return
    arguments = given(call, declared, context)
    # What is known to be a number already needs no read; a call without arguments reads what its object holds.
    if declared.parameter and all(context.kind(argument.value).is_host for argument in arguments):
        return
    name = local_name(call.func)
    reason = f"what `{name}` does on the other steps is lost"
    fix = guard.sample_fix("call it every so many steps", rarer.CALLS, reason, context)
    context.report(SYNC, call, fix, step, tensor=context.text(arguments[0].value) if arguments else "")
