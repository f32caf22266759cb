"""PPF401 and PPF402: checkpoints saved synchronously in the step loop, or at each epoch."""

from __future__ import annotations

import ast
from dataclasses import replace

import libcst as cst

from perflint.checks import async_save, guard
from perflint.checks.arguments import declaration
from perflint.facts import epochs
from perflint.facts.fluid import imports_fluid
from perflint.facts.periodic_saves import PeriodicSave, periodic_saves
from perflint.facts.save_targets import writes_memory
from perflint.facts.shared_saves import every_rank_in
from perflint.findings import Confidence, Related
from perflint.index.project import FileIndex
from perflint.lint.context import Context, method_of
from perflint.lint.registry import (
    check,
    declared_triggers,
    gate,
    statement_gate,
    step_check,
    step_triggers,
)
from perflint.syntax.scopes import Statement
from perflint.training.steps import Step

_WITH_OPTIMIZER, _PRETRAINED = "whole save", "pretrained save"
_MESSAGE = (
    "`{what}`{others} makes training wait for the disk {where}; where that takes more than one or two per cent of the"
    " time, save {way}."
)
_IN_BACKGROUND = "pass a snapshot to paddle.async_save and flush its queue after the loop"
IN_STEP, EACH_EPOCH = "PPF401", "PPF402"
SAVES = frozenset({"paddle.save", "paddle.static.save", "paddle.Model.save", "paddle.jit.save", "paddle.fluid.save"})

declared_triggers[IN_STEP].add("checkpoint_calls")
step_triggers[IN_STEP] |= {name.rpartition(".")[2] for name in SAVES} | {"save_dygraph"}

for _name in sorted(SAVES):
    gate(EACH_EPOCH, _name)


@step_check("Call")
def save_in_step(call: cst.Call, context: Context, step: Step) -> None:
    """Report a checkpoint written at each step."""
    is_save = context.callee(call) in SAVES and not _writes_memory(call, context)
    if is_save or declaration(call, context.settings.checkpoint_calls, context):
        context.report(IN_STEP, call, guard.checkpoint_fix(context), step)


@statement_gate(IN_STEP)
def _statements(file: FileIndex) -> list[tuple[Statement, Confidence]]:
    return [(found.statement, Confidence.HIGH) for found in periodic_saves(file).values()]


@check("Call")
def save_every_so_often(call: cst.Call, context: Context) -> None:
    """Report a checkpoint that training waits for every n steps."""
    point = context.point
    if point is None or context.step is not None or context.claimed:
        return
    asked = context.expression(call)
    found = periodic_saves(context.file).get(asked) if isinstance(asked, ast.Call) else None
    if found is None or context.range(call)[0] in every_rank_in(context.file):
        return
    more = f" (and {found.more} more here)" if found.more else ""
    context.report(
        IN_STEP,
        call,
        async_save.periodic_fix(call, found, context),
        found.step,
        event=_event(found, call),
        every=replace(found.interval, beside="an evaluation") if found.evaluates else found.interval,
        message=_MESSAGE,
        others=more,
        way="less often" if imports_fluid(context.file) else "less often or in the background",
    )


def _event(found: PeriodicSave, call: cst.Call) -> str:
    """What is saved: ``save_pretrained`` belongs to networks that are larger than most."""
    if method_of(call) == "save_pretrained":
        return _PRETRAINED
    return _WITH_OPTIMIZER if found.with_optimizer else ""


@check("Call")
def save_each_epoch(call: cst.Call, context: Context) -> None:
    """Report a checkpoint that training waits for at each epoch."""
    if context.callee(call) != "paddle.save" or context.claimed:
        return
    loop = epochs.loop_of(context.here.statement) if context.point is not None else None
    if loop is None or context.step is not None or _writes_memory(call, context):
        return
    if context.range(call)[0] in every_rank_in(context.file):
        return  # one writer is enough: PPF403 reports that first; after that fix, this rule can report how it writes
    related = (Related(context.file.path, loop.lineno, "the epoch loop"),)
    advice = "save only every few epochs" if imports_fluid(context.file) else _IN_BACKGROUND
    fix = async_save.fix(call, loop, context)
    context.report(EACH_EPOCH, call, fix, related=related, line=str(loop.lineno), advice=advice)


def _writes_memory(call: cst.Call, context: Context) -> bool:
    """Whether a save writes to memory, which is much faster than a disk."""
    asked = context.expression(call)
    return isinstance(asked, ast.Call) and writes_memory(asked, context.file, context.here.scope)
