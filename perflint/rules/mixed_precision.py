"""PPF301: a program that trains in float32, without anything that could turn mixed precision on."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from functools import partial

from perflint.catalogue import shipped
from perflint.facts import amp
from perflint.facts.entry_points import DeviceWork, EntryPoint, work_of
from perflint.findings import Confidence, Fix
from perflint.lint.context import Context
from perflint.lint.registry import At, rule
from perflint.paddle.host_reads import ARRAY_METHODS
from perflint.rules.edits import put_under
from perflint.rules.entry_advice import entries_in, model_of, places_beside, rows_of_their_own
from perflint.rules.spelled import spelling
from perflint.syntax.bindings import bound_by
from perflint.syntax.names import plain_names
from perflint.syntax.scopes import terminal
from perflint.syntax.tree import calls_in

RULE = shipped()["PPF301"]
_PADDLE = "2.3"
"""The first Paddle whose ``auto_cast`` takes ``dtype``."""
_IN_FLOAT32 = re.compile(r"loss|cost|acc(?:uracy)?\d*$|metric", re.IGNORECASE)
"""Names of means, which ``auto_cast`` leaves in float32."""


def trains_in_float32(entry: EntryPoint) -> bool:
    """Whether a step spends its time on layers that Tensor Cores can run, and nothing near it mentions AMP."""
    if amp.is_offered_near(entry.file) or amp.is_offered_near(entry.driven_from):
        return False
    return bool(work_of(entry) - {DeviceWork.OTHER_CONVOLUTIONS})


@rule(RULE.code, at=At.ANYWHERE, find=partial(entries_in, is_worth=trains_in_float32), claims=False, heeds_claims=False)
def no_mixed_precision(entry: EntryPoint, context: Context) -> None:
    """Report the backward pass of a training step in float32."""
    context.report(
        _fix(entry),
        related=places_beside(entry),
        confidence=Confidence.MEDIUM,
        model=model_of(entry),
        scaler=_scaler(entry),
    )


def _scaler(entry: EntryPoint) -> str:
    """What float16 needs besides ``auto_cast``, with the names of the step."""
    loss = ast.unparse(entry.call.func.value) if isinstance(entry.call.func, ast.Attribute) else "loss"
    steps = "; ".join(f"scaler.step({name})" for name in entry.optimizers or ("optimizer",))
    return f"scaler.scale({loss}).backward(); {steps}; scaler.update()"


def _fix(entry: EntryPoint) -> Fix:
    obstacle = _obstacle(entry)
    spelled = spelling("paddle.amp.auto_cast", entry.backward.node, entry.file)
    if obstacle or spelled is None:
        return replace(RULE.words(obstacle), paddle=_PADDLE)
    header = f'with {spelled.name}(dtype="bfloat16"):'
    run = entry.forward[0], entry.forward[-1]
    edits = put_under(header, run, entry.scope, entry.backward, entry.file.source)
    return spelled.trusted(RULE.fix(edits, paddle=_PADDLE))


def _obstacle(entry: EntryPoint) -> str:
    """The case in which the lines cannot be inserted automatically; ``""`` if they can."""
    if not entry.forward or not entry.is_alone or any(map(_holds_backward, entry.forward)):
        return "elsewhere"
    if not rows_of_their_own(entry.forward, entry.scope.node):
        return "elsewhere"
    return "numpy" if _reads_outputs(entry) else ""


def _reads_outputs(entry: EntryPoint) -> bool:
    """Whether a step reads a model's output on the host with NumPy, other than a loss or a mean, which stay float32."""
    outputs = {name for node in entry.forward[:1] for name in bound_by(node) if not _IN_FLOAT32.search(name)}
    loop = entry.backward.loop
    step = (each for each in entry.scope.statements if loop is None or each.is_in(loop))
    reads = (call.func for each in step for call in each.calls if terminal(call) in ARRAY_METHODS)
    return any(not outputs.isdisjoint(plain_names(read)) for read in reads)


def _holds_backward(node: ast.stmt) -> bool:
    return any(terminal(call) == "backward" for call in calls_in(node))
