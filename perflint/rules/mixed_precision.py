"""PPF301: a program that trains in float32, without anything that could turn mixed precision on."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

from perflint.catalogue import shipped
from perflint.facts.entry_points import EntryPoint, program_entries
from perflint.facts.float32 import AmpSwitch, float32_of
from perflint.findings import Confidence, Fix
from perflint.index.project import FileIndex, Place
from perflint.lint.context import Context
from perflint.lint.registry import At, Candidate, rule
from perflint.paddle.tensor_methods import ARRAY_METHODS
from perflint.rules.edits import put_under
from perflint.rules.entry_advice import model_of, places_beside, rows_of_their_own
from perflint.rules.spelled import spelling
from perflint.syntax.bindings import bound_by
from perflint.syntax.names import plain_names
from perflint.syntax.scopes import terminal
from perflint.syntax.tree import calls_in
from perflint.trace.events import StepEvent
from perflint.trace.step_trace import all_nodes, of_loop
from perflint.trace.verdict import gains_from_amp, verdict

RULE = shipped()["PPF301"]
_PADDLE = "2.3"
"""The first Paddle whose ``auto_cast`` takes ``dtype``."""
_MANY = 4
"""From so many waits a step on, the device may be done before the host gives it more to do."""
_IN_FLOAT32 = re.compile(r"loss|cost|acc(?:uracy)?\d*$|metric", re.IGNORECASE)
"""Names of means, which ``auto_cast`` leaves in float32."""


def _entries(file: FileIndex) -> Iterator[Candidate]:
    """The programs with their backward pass in a file that train in float32, and whose steps are worth it."""
    for entry in program_entries(file.project) if file.has_words("backward") else ():
        if entry.file is file and gains_from_amp(entry):
            yield Candidate(entry.call, entry.backward.node, entry, Confidence.MEDIUM)


@rule(RULE.code, at=At.ANYWHERE, find=_entries, claims=False, heeds_claims=False)
def no_mixed_precision(entry: EntryPoint, context: Context) -> None:
    """Report the backward pass of a training step in float32, and what else the step waits for."""
    found = float32_of(entry.file, entry.driven_from)
    switch = found.switch if found is not None else None
    waits = _waits(entry, context)
    context.report(
        RULE.words("switched", switch=_named(switch, context)) if switch is not None else _fix(entry),
        related=places_beside(entry),
        confidence=Confidence.MEDIUM,
        event="float32 step that waits" if waits else "",
        model=model_of(entry) if entry.is_alone else "the model",
        scaler=_scaler(entry),
        switch=_named(switch, context) if switch is not None else "",
        first=waits,
        message=RULE.texts["switched"] if switch is not None else "",
    )


def _named(switch: AmpSwitch, context: Context) -> str:
    return f"`{switch.text}` ({context.where(switch.path, switch.row)})"


def _waits(entry: EntryPoint, context: Context) -> str:
    """What has to be mended first, since the device waits for it, as a sentence; ``""`` if nothing is known to."""
    plan = verdict(of_loop(Place(entry.driven_from, entry.driver), entry.loop)).plan
    loading = next((edit for edit in plan if edit.kind == "loading"), None)
    if loading is not None:
        rows = " and ".join(context.where(path, row) for path, row in loading.rows)
        return RULE.texts["loading"].format(rows=rows)
    waits = next((edit for edit in plan if edit.kind == "waits"), None)
    if waits is not None and len(waits.rows) >= _MANY:
        return RULE.texts["waits"].format(count=len(waits.rows))
    return ""


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
    return "numpy" if _reads_outputs(entry) or _is_read_below(entry) else ""


def _reads_outputs(entry: EntryPoint) -> bool:
    """Whether a step reads a model's output on the host with NumPy, other than a loss or a mean, which stay float32."""
    outputs = {name for node in entry.forward[:1] for name in bound_by(node) if not _IN_FLOAT32.search(name)}
    loop = entry.backward.loop
    step = (each for each in entry.scope.statements if loop is None or each.is_in(loop))
    reads = (call.func for each in step for call in each.calls if terminal(call) in ARRAY_METHODS)
    return any(not outputs.isdisjoint(plain_names(read)) for read in reads)


def _is_read_below(entry: EntryPoint) -> bool:
    """Whether the model or the loss reads tensors with NumPy: to match boxes on the host, for example."""
    step = all_nodes(of_loop(Place(entry.driven_from, entry.driver), entry.loop).nodes)
    events = (node for node in step if isinstance(node, StepEvent) and node.point.scope is not entry.scope)
    return any(isinstance(each.node, ast.Call) and terminal(each.node) in ARRAY_METHODS for each in events)


def _holds_backward(node: ast.stmt) -> bool:
    return any(terminal(call) == "backward" for call in calls_in(node))
