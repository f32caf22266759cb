"""PPF201 and PPF210: a host read of a device tensor at each step, and in the forward pass of a model."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from perflint.catalogue import shipped
from perflint.facts.programs import is_for_paddle_1
from perflint.facts.waits import is_in_host_memory, needed_for
from perflint.findings import HOST_READ, Confidence, Related
from perflint.lint.context import Context
from perflint.lint.registry import At, rule
from perflint.paddle.tensor_methods import READ_METHODS
from perflint.rules import accumulate, guard
from perflint.rules.arguments import declaration, given
from perflint.rules.edits import on_device
from perflint.rules.excuses import is_untrained
from perflint.rules.read_advice import advice
from perflint.rules.tensor_reads import READING_CALLS, certainty, tensor_read_by
from perflint.syntax.names import dotted
from perflint.syntax.parameters import arguments_of
from perflint.syntax.scopes import terminal
from perflint.trace.events import events_at
from perflint.training.step_loops import is_of_tensors
from perflint.training.steps import Point, Read, points_of, reads_of

RULE = shipped()["PPF201"]
_CALL_LESS = "call it every n steps"


@rule(RULE.code, at=At.STEP, declared="sync_calls")
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
    fix = guard.sample_fix(_CALL_LESS, guard.CALLS, reason, context)
    tensor = context.text(arguments[0]) if arguments else ""
    context.report(fix, tensor=tensor, advice=_CALL_LESS)


@rule(RULE.code, at=At.STEP, calls=READING_CALLS | {"range"})
def host_read(call: ast.Call, context: Context) -> None:
    """Report the outermost read of a place; the reads inside it belong to it."""
    tensor = tensor_read_by(call, context)
    if tensor is not None:
        kept, said = accumulate.fix(call, tensor, context), advice(call, context)
        fix, logs = (kept.fix, kept.logs) if kept is not None else (said.fix, ())
        context.report(
            fix,
            confidence=certainty(tensor, context),
            logs=logs,
            otherwise=said.fix,
            shown=said.shown,
            read_for=said.read_for,
            event=said.event if kept is None else "",
            tensor=context.text(tensor),
            advice=said.words,
        )


@rule(RULE.code, at=At.STEP, calls=["set_value"], claims=False)
def set_through_the_host(call: ast.Call, context: Context) -> None:
    """Report a parameter set to a tensor in Paddle 1.x, whose ``set_value`` reads the new and the old value."""
    is_method = isinstance(call.func, ast.Attribute) and len(call.args) == 1 and not call.keywords
    if is_method and context.kind(call.args[0]).is_tensor and is_for_paddle_1([context.file]):
        fix = RULE.words("parameter of Paddle 1.x")
        context.report(fix, tensor=context.text(call.args[0]), advice=fix.message)


def _helpers(point: Point) -> Iterator[tuple[ast.Call, Read]]:
    """The calls of helpers in other files that read their arguments."""
    lines, reading = point.file.source.lines, reads_of(point.file)
    for call in point.statement.calls if reading else ():
        read = reading.get(lines.span(call)[0])
        if read is not None and not _is_needed(read):
            yield call, read


def _is_needed(read: Read) -> bool:
    """Whether the host needs all that the function of a read waits for: no edit of the call removes that."""
    scopes = [scope for scope, _, call in read.file.calls_named(terminal(read.call) or "") if call is read.call]
    points = (points_of(read.file).get(item.node) for scope in scopes for item in scope.statements)
    found = ((point, each) for point in points if point is not None for each in events_at(point))
    waits = [(point, each.node) for point, each in found if each.kind is not None and each.kind.waits]
    return bool(waits) and all(needed_for(point, node, forward=False) for point, node in waits)


@rule(RULE.code, at=At.STEP, find_at=_helpers, claims=False)
def reading_helper(read: Read, context: Context) -> None:
    """Report a call whose helper in another file reads its argument: the step loop is where people look."""
    call = context.node
    assert isinstance(call, ast.Call)
    # It only records its argument, which not every step needs. `ema.update()` continues from step to step.
    records = isinstance(context.statement, ast.Expr) and bool(arguments_of(call))
    said, case = advice(call, context), "helper that records" if records else "helper"
    fix = RULE.words(case, interval=str(context.settings.log_interval))
    if said.shown:
        fix, case = replace(fix, message=said.fix.message), "helper that logs"
    context.report(
        fix,
        related=(Related(read.path, read.line, HOST_READ),),
        confidence=Confidence.HIGH if read.sure else Confidence.LOW,
        shown=said.shown,
        read_for=said.read_for,
        message=RULE.texts[case],
        place=f"{read.path}:{read.line}",
        advice=said.words,
    )


# PPF210: a host read in the forward pass of a model.

FORWARD_READ = "PPF210"
# Python's own functions: they accept a list of numbers as well as a tensor.
_OF_LISTS = frozenset({"max", "min", "sum", "len", "round", "abs"})


@rule(FORWARD_READ, at=At.FORWARD, calls=READING_CALLS)
def forward_read(call: ast.Call, context: Context) -> None:
    """Report the outermost read of a tensor that the forward pass of a layer always does."""
    tensor, step = tensor_read_by(call, context), context.running
    if tensor is None or is_untrained(context.here, step.function):
        return
    if isinstance(tensor, ast.Call) and dotted(tensor.func) in _OF_LISTS:
        return
    if is_in_host_memory(on_device(tensor), context.here):
        return
    said, confidence = advice(call, context), _confidence(call, tensor, context)
    context.report(said.fix, confidence=confidence, tensor=context.text(tensor), advice=said.words)


def _confidence(call: ast.Call, tensor: ast.expr, context: Context) -> Confidence:
    kind = context.kind(tensor)
    if kind.is_tensor and not kind.guess:
        return Confidence.HIGH
    # An argument of a forward pass is a tensor or a plain number: only a method that numbers lack distinguishes them.
    is_one = is_of_tensors(call) or (terminal(call) in READ_METHODS and kind.is_tensor)
    return Confidence.MEDIUM if is_one else Confidence.LOW
