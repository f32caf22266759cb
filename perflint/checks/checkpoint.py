"""PPF401 and PPF402: checkpoints saved synchronously in the step loop, or at each epoch."""

from __future__ import annotations

import libcst as cst

from perflint.checks import async_save, guard
from perflint.checks.arguments import declaration
from perflint.facts import epochs
from perflint.facts.shared_saves import every_rank_in
from perflint.findings import Related
from perflint.lint.context import Context
from perflint.lint.registry import check, declared_triggers, gate, step_check, step_triggers
from perflint.training.steps import Step

IN_STEP, EACH_EPOCH = "PPF401", "PPF402"
SAVES = frozenset({"paddle.save", "paddle.static.save", "paddle.Model.save", "paddle.jit.save", "paddle.fluid.save"})

declared_triggers[IN_STEP].add("checkpoint_calls")
step_triggers[IN_STEP] |= {name.rpartition(".")[2] for name in SAVES} | {"save_dygraph"}

for _name in sorted(SAVES):
    gate(EACH_EPOCH, _name)


@step_check("Call")
def save_in_step(call: cst.Call, context: Context, step: Step) -> None:
    """Report a checkpoint written at each step."""
    if context.callee(call) in SAVES or declaration(call, context.settings.checkpoint_calls, context):
        context.report(IN_STEP, call, guard.checkpoint_fix(context), step)


@check("Call")
def save_each_epoch(call: cst.Call, context: Context) -> None:
    """Report a checkpoint that training waits for at each epoch."""
    if context.callee(call) != "paddle.save":
        return
    loop = epochs.loop_of(context.here.statement) if context.point is not None else None
    if loop is None or context.step is not None:
        return
    if context.range(call)[0] in every_rank_in(context.file):
        return  # one writer is enough: PPF403 says so, and once it is one, how it writes can be seen to
    related = (Related(context.file.path, loop.lineno, "the epoch loop"),)
    context.report(EACH_EPOCH, call, async_save.fix(call, loop, context), related=related, line=str(loop.lineno))
