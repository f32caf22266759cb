"""PPF210: a host read in the forward pass of a model."""

from __future__ import annotations

import libcst as cst

from perflint.facts.waits import is_in_host_memory
from perflint.findings import Confidence
from perflint.lint.context import Context, local_name, method_of
from perflint.lint.registry import forward_triggers, step_check
from perflint.paddle.host_reads import READ_METHODS
from perflint.rules.edits import on_device
from perflint.rules.excuses import is_untrained
from perflint.rules.read_advice import advice
from perflint.rules.tensor_reads import READING_CALLS, tensor_read_by
from perflint.training.steps import Step

CODE = "PPF210"
# Python's own functions: they accept a list of numbers as well as a tensor.
_OF_LISTS = frozenset({"max", "min", "sum", "len", "round", "abs"})

forward_triggers[CODE] |= READING_CALLS


@step_check("Call", forward=True)
def forward_read(call: cst.Call, context: Context, step: Step) -> None:
    """Report the outermost read of a tensor that the forward pass of a layer always does."""
    tensor = tensor_read_by(call, context) if step.forward else None
    if tensor is None or is_untrained(context.here, step.function):
        return
    if isinstance(tensor, cst.Call) and local_name(tensor.func) in _OF_LISTS:
        return
    node = context.expression(on_device(tensor))
    if node is None or is_in_host_memory(node, context.here):
        return
    said, confidence = advice(call, context), _confidence(call, tensor, context)
    context.report(CODE, call, said.fix, step, confidence=confidence, tensor=context.text(tensor), advice=said.words)


def _confidence(call: cst.Call, tensor: cst.BaseExpression, context: Context) -> Confidence:
    kind = context.kind(tensor)
    if kind.is_tensor and not kind.guess:
        return Confidence.HIGH
    # An argument of a forward pass is a tensor or a plain number: only a method that numbers lack distinguishes them.
    return Confidence.MEDIUM if method_of(call) in READ_METHODS and kind.is_tensor else Confidence.LOW
