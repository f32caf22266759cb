"""PPF210: a host read in the forward pass of a model."""

from __future__ import annotations

import ast

from perflint.facts.waits import is_in_host_memory
from perflint.findings import Confidence
from perflint.lint.context import Context
from perflint.lint.registry import At, rule
from perflint.paddle.tensor_methods import READ_METHODS
from perflint.rules.edits import on_device
from perflint.rules.excuses import is_untrained
from perflint.rules.read_advice import advice
from perflint.rules.tensor_reads import READING_CALLS, tensor_read_by
from perflint.syntax.names import dotted
from perflint.syntax.scopes import terminal
from perflint.training.step_loops import is_of_tensors

CODE = "PPF210"
# Python's own functions: they accept a list of numbers as well as a tensor.
_OF_LISTS = frozenset({"max", "min", "sum", "len", "round", "abs"})


@rule(CODE, at=At.FORWARD, calls=READING_CALLS)
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
