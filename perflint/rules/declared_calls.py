"""Calls declared in the configuration that read from the device and wait for it (PPF201)."""

from __future__ import annotations

import ast

from perflint.lint.context import Context
from perflint.lint.registry import At, rule
from perflint.rules import guard
from perflint.rules.arguments import declaration, given
from perflint.syntax.names import dotted

SYNC = "PPF201"


@rule(SYNC, at=At.STEP, declared="sync_calls")
def declared_sync(call: ast.Call, context: Context) -> None:
    """Report a call at each step that the configuration declares to wait for the device."""
    declared = declaration(call, context.settings.sync_calls, context)
    if declared is None:
        return
    arguments = given(call, declared, context)
    # A known number needs no read; a call without arguments reads the values of its object.
    if declared.parameter and all(context.kind(argument).is_host for argument in arguments):
        return
    reason = f"what `{dotted(call.func)}` does on the other steps is lost"
    advice = "call it every n steps"
    fix = guard.sample_fix(advice, guard.CALLS, reason, context)
    tensor = context.text(arguments[0]) if arguments else ""
    context.report(fix, tensor=tensor, advice=advice)
