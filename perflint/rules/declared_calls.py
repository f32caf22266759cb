"""Calls declared in the configuration that read from the device and wait for it (PPF201)."""

from __future__ import annotations

import libcst as cst

from perflint.lint.context import Context, local_name
from perflint.lint.registry import declared_triggers, step_check
from perflint.rules import guard
from perflint.rules.arguments import declaration, given
from perflint.training.steps import Step

SYNC = "PPF201"

declared_triggers[SYNC].add("sync_calls")


@step_check("Call")
def declared_sync(call: cst.Call, context: Context, step: Step) -> None:
    """Report a call at each step that the configuration declares to wait for the device."""
    declared = declaration(call, context.settings.sync_calls, context)
    if declared is None:
        return
    arguments = given(call, declared, context)
    # A known number needs no read; a call without arguments reads the values of its object.
    if declared.parameter and all(context.kind(argument.value).is_host for argument in arguments):
        return
    name = local_name(call.func)
    reason = f"what `{name}` does on the other steps is lost"
    advice = "call it every n steps"
    fix = guard.sample_fix(advice, guard.CALLS, reason, context)
    context.report(SYNC, call, fix, step, tensor=context.text(arguments[0].value) if arguments else "", advice=advice)
