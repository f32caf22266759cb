"""PPF301: a program that trains in float32, without anything that could turn mixed precision on."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from perflint.catalogue import shipped
from perflint.facts.amp import amp_calls
from perflint.facts.entry_points import (
    DeviceWork,
    EntryPoint,
    dotted_loss,
    is_left_out,
    runs_wide_layers,
    work_of,
)
from perflint.facts.float32 import AmpSwitch, float32_of
from perflint.facts.loaders import LOADER
from perflint.findings import Confidence, Fix, Level, Related
from perflint.flow.sources import sources
from perflint.index.project import FileIndex, Place
from perflint.lint.context import Context
from perflint.lint.registry import At, Candidate, named, rule
from perflint.lint.statement_code import statement_around
from perflint.paddle.tensor_methods import ARRAY_METHODS
from perflint.query import query
from perflint.rules.edits import WithArgument, put_under
from perflint.rules.entry_advice import model_of, places_beside, rows_of_their_own
from perflint.rules.spelled import spelling
from perflint.syntax.bindings import bound_by
from perflint.syntax.names import dotted, plain_names
from perflint.syntax.parameters import argument_of, is_spread
from perflint.syntax.scopes import terminal
from perflint.syntax.tree import calls_in
from perflint.trace.events import StepEvent
from perflint.trace.forward_pass import Begins, compares_spectra, forward_pass
from perflint.trace.loading import workers_of
from perflint.trace.started import Standing, program_entries, standing
from perflint.trace.step_trace import all_nodes, of_loop
from perflint.trace.verdict import gains_from_amp, verdict
from perflint.training.evidence import takes_optimizer_step

RULE = shipped()["PPF301"]
_PADDLE = "2.3"
"""The first Paddle whose ``auto_cast`` takes ``dtype``, and whose ``amp_configs`` may be a text."""
_MANY = 4
"""From so many waits a step on, the device may be done before the host gives it more to do."""
_IN_FLOAT32 = re.compile(r"loss|cost|acc(?:uracy)?\d*$|metric", re.IGNORECASE)
"""Names of means, which ``auto_cast`` leaves in float32."""


def _entries(file: FileIndex) -> Iterator[Candidate]:
    yield from _edited_in(file)


@query  # most files have none, so that an edit of a training loop does not make each of them worth another check
def _edited_in(file: FileIndex) -> tuple[Candidate, ...]:
    """Where a file has to be edited for programs that train in float32, and whose steps are worth it."""
    found = (_edited(entry) for entry in program_entries(file.project) if gains_from_amp(entry))
    return tuple(candidate for where, candidate in found if where is file)


def _edited(entry: EntryPoint) -> tuple[FileIndex, Candidate]:
    """Where the edit goes: what leaves AMP off, the existing ``auto_cast``, or the beginning of the forward pass."""
    found = float32_of(entry.file, entry.driven_from)
    switch = found.switch if found is not None else None
    if switch is not None and switch.node is not None:
        file = entry.file.project.files[switch.path]
        around = statement_around(file.tree, switch.node)
        if around is not None:  # all of ``parser.add_argument("--amp")``
            node = around.value if isinstance(around, ast.Expr) else switch.node
            return file, Candidate(node, around, entry, Confidence.MEDIUM)
    begins = forward_pass(entry)
    if begins is None or begins.place.statement is None:
        return entry.file, Candidate(entry.call, entry.backward.node, entry, Confidence.MEDIUM)
    begins = begins if switch is None else _cast_around(begins) or begins
    statement = begins.place.statement
    assert statement is not None
    return begins.place.file, Candidate(begins.node, statement.node, entry, Confidence.MEDIUM)


def _cast_around(begins: Begins) -> Begins | None:
    """The ``auto_cast`` that a forward pass runs under."""
    at = begins.place
    if at.statement is None:
        return None
    around = [link.node for link in at.statement.around]
    setups = amp_calls([at.scope], at.file.names)
    return next((Begins(call, at.at(at.scope, to)) for _, to, call in setups if to.node in around), None)


@rule(RULE.code, at=At.ANYWHERE, find=_entries, claims=False, heeds_claims=False)
def no_mixed_precision(entry: EntryPoint, context: Context) -> None:
    """Report the forward pass of a training step in float32, or what leaves it so, and what else the step waits for."""
    found = float32_of(entry.file, entry.driven_from)
    switch = found.switch if found is not None else None
    waits = _waits(entry, context)
    backward = Related(entry.file.path, entry.file.row(entry.call), "its backward pass")
    stands = standing(Place(entry.file, entry.scope), None) if context.settings.whole_project else Standing()
    if not stands.is_reached:
        return
    context.report(
        RULE.words("switched", switch=_named(switch, context)) if switch is not None else _fix(entry),
        related=(backward, *places_beside(entry)),
        confidence=Confidence.LOW if stands.doubt else Confidence.MEDIUM,
        event="float32 step that waits" if waits else "",
        model=model_of(entry) if entry.is_alone else "the model",
        at=context.where(entry.file.path, entry.file.row(entry.call)),
        cast=_arguments(entry),
        under=RULE.texts["without loss" if compares_spectra(entry) else "with loss"],
        scaler=_scaler(entry),
        switch=_named(switch, context) if switch is not None else "",
        first=waits,
        message=RULE.texts["switched"] if switch is not None else "",
    )


def _named(switch: AmpSwitch, context: Context) -> str:
    return f"`{switch.text}` ({context.where(switch.path, switch.row)})"


def _waits(entry: EntryPoint, context: Context) -> str:
    """What has to be mended first, since the device waits for it, as a sentence; ``""`` if nothing is known to."""
    whole = verdict(of_loop(Place(entry.driven_from, entry.driver), entry.loop)).plan
    plan = [edit for edit in whole if edit.is_large or edit.repeated]
    loading = next((edit for edit in plan if edit.kind == "loading"), None)
    if loading is not None:
        rows = " and ".join(context.where(path, row) for path, row in loading.rows)
        return RULE.texts["loading"].format(rows=rows)
    waits = next((edit for edit in plan if edit.kind == "waits"), None)
    if waits is not None and len(waits.rows) >= _MANY:
        return RULE.texts["waits"].format(count=len(waits.rows))
    return ""


def _arguments(entry: EntryPoint) -> str:
    """What ``auto_cast`` gets: by itself it leaves 3-D convolutions in float32."""
    listed = ', custom_white_list={"conv3d"}' if DeviceWork.VOLUMES in work_of(entry) else ""
    return f'dtype="bfloat16"{listed}'


def _scaler(entry: EntryPoint) -> str:
    """What float16 needs besides ``auto_cast``, with the names of the step: each of its losses is scaled."""
    lines = []
    for statement in entry.scope.statements:
        for call in statement.calls if statement.loop is entry.backward.loop else ():
            owner = ast.unparse(call.func.value) if isinstance(call.func, ast.Attribute) else ""
            if owner and terminal(call) == "backward":
                lines.append(f"scaler.scale({owner}).backward()")
            elif owner in entry.optimizers and takes_optimizer_step(call):
                lines.append(f"scaler.step({owner})")
    if not entry.optimizers:
        lines.append("scaler.step(optimizer)")
    return "; ".join([*dict.fromkeys(lines), "scaler.update()"])


def _fix(entry: EntryPoint) -> Fix:
    obstacle = "spectra" if compares_spectra(entry) else _obstacle(entry)
    spelled = spelling("paddle.amp.auto_cast", entry.backward.node, entry.file)
    if obstacle or spelled is None:
        return replace(RULE.words(obstacle), paddle=_PADDLE)
    header = f"with {spelled.name}({_arguments(entry)}):"
    run = entry.forward[0], entry.forward[-1]
    edits = put_under(header, run, entry.scope, entry.backward, entry.file.source)
    return spelled.trusted(RULE.fix(edits, paddle=_PADDLE))


def _obstacle(entry: EntryPoint) -> str:
    """The case in which the lines cannot be inserted automatically; ``""`` if they can."""
    if not entry.forward or not entry.is_alone or any(map(_holds_backward, entry.forward)):
        return "elsewhere"
    begins = forward_pass(entry)
    if begins is not None and not any(part is begins.node for node in entry.forward for part in ast.walk(node)):
        return "elsewhere"
    if plain_names(entry.call.func).union([dotted_loss(entry.call)]).isdisjoint(_bound(entry.forward)):
        return "elsewhere"
    if not rows_of_their_own(entry.forward, entry.scope.node):
        return "elsewhere"
    return "numpy" if _reads_outputs(entry) or _is_read_below(entry) else ""


def _bound(nodes: Sequence[ast.stmt]) -> set[str]:
    """The names that some statements bind, including those in their blocks."""
    return {name for node in nodes for item in ast.walk(node) if isinstance(item, ast.stmt) for name in bound_by(item)}


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


# PPF301, of ``paddle.Model``: ``model.prepare`` without ``amp_configs``, so that ``model.fit`` trains in float32.


@rule(RULE.code, at=At.ANYWHERE, names=named("paddle.Model.prepare", code=RULE.code))
def prepared_without_amp(call: ast.Call, context: Context) -> None:
    """Report ``model.prepare(optimizer, loss)`` of a network that Tensor Cores can run, where ``model.fit`` follows."""
    if context.callee(call) != "paddle.Model.prepare" or is_spread(call) or argument_of(call, "amp_configs", 3):
        return
    if argument_of(call, "loss", 1) is None or is_left_out(context.file) or context.runs_on_cpu:
        return
    owner = call.func.value if isinstance(call.func, ast.Attribute) else call
    fits = [each for each in _fits(context.place) if dotted(each.func) == f"{dotted(owner)}.fit"]
    networks = [each for each in sources(owner, context.place) if each.qualified == "paddle.Model"]
    given = [argument_of(each.node, "network", 0) for each in networks if isinstance(each.node, ast.Call)]
    found = float32_of(context.file, context.file)
    if not fits or len(given) != 1 or given[0] is None or found is None or found.switch is not None:
        return
    if not runs_wide_layers(given[0], networks[0].place):
        return
    edits = context.edits(WithArgument(call, 'amp_configs="O1"'))
    waits = next((said for each in fits for said in _loads_itself(each, context)), "")
    context.report(
        replace(RULE.words("prepared"), edits=tuple(edits), level=Level.UNSAFE, paddle=_PADDLE),
        confidence=Confidence.MEDIUM,
        event="float32 step that waits" if waits else "",
        message=RULE.texts["prepared"],
        owner=dotted(owner) or "the model",
        first=waits,
    )


def _fits(at: Place) -> Iterator[ast.Call]:
    return (call for call in at.scope.calls if terminal(call) == "fit")


def _loads_itself(fit: ast.Call, context: Context) -> Iterator[str]:
    """What to mend first where the process that trains loads the batches of ``fit`` itself, as a sentence."""
    at, data = context.place, argument_of(fit, "train_data", 0)
    here = at.at(at.scope, next(each for each in at.scope.statements if fit in each.calls))
    made = [each for each in sources(data, here) if each.qualified == LOADER] if data is not None else []
    for source in made:
        if isinstance(source.node, ast.Call) and set(workers_of(source.node, source.place)) == {0}:
            yield RULE.texts["loading"].format(rows=context.where(source.place.file.path, source.node.lineno))
    if not made and set(workers_of(fit, here)) == {0}:
        yield RULE.texts["fit loads"].format(row=fit.lineno)
