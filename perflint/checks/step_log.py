"""PPF202 and PPF405: logging at each step, with and without a tensor in it."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from perflint.checks import guard
from perflint.checks.log_calls import (
    LOGGER_METHODS,
    NAMES,
    PLAIN_LOG,
    PROGRESS,
    RECORDERS,
    TENSOR_LOG,
    code_of,
    log_family,
)
from perflint.findings import Confidence
from perflint.lint.context import Context
from perflint.lint.gates import FORMATTING
from perflint.lint.registry import check, declares, triggers

declares(PLAIN_LOG, "logging_calls")
declares(TENSOR_LOG, "logging_calls")
triggers(PLAIN_LOG, LOGGER_METHODS | PROGRESS | RECORDERS | NAMES)
triggers(TENSOR_LOG, LOGGER_METHODS | PROGRESS | RECORDERS | NAMES | {"format", "str", "repr", FORMATTING})


@check("Call")
def log_call(call: cst.Call, context: Context) -> None:
    """Report a logging call: it holds everything that is read for it."""
    step = context.step
    if step is None or context.claimed:
        return
    family = log_family(call, context)
    if not family:
        return
    code = code_of(call, context)
    # A line that only a method's name leads to may belong to the start of a run, or to what seldom happens.
    confidence = Confidence.LOW if code == PLAIN_LOG and not step.sure else Confidence.HIGH
    context.report(code, call, guard.fix(call, family, context), step, confidence=confidence)


@check("FormattedString")
@check("BinaryOperation")
@check("Call")
def formatted_tensor(node: cst.FormattedString | cst.BinaryOperation | cst.Call, context: Context) -> None:
    """Report a tensor made into text outside of a logging call."""
    step = context.step
    if step is None or context.claimed:
        return
    for part in _formatted(node, context):
        if context.kind(part).is_tensor:
            context.report(TENSOR_LOG, node, guard.format_fix(context), step, tensor=context.text(part))
            return


def _formatted(
    node: cst.FormattedString | cst.BinaryOperation | cst.Call, context: Context
) -> Iterator[cst.BaseExpression]:
    """The values that an expression makes into text."""
    if isinstance(node, cst.FormattedString):
        for part in node.parts:
            if isinstance(part, cst.FormattedStringExpression):
                yield part.expression
    elif isinstance(node, cst.BinaryOperation):
        if isinstance(node.operator, cst.Modulo) and isinstance(
            node.left, (cst.SimpleString, cst.ConcatenatedString, cst.FormattedString)
        ):
            yield from _elements(node.right)
    elif isinstance(node.func, cst.Attribute) and node.func.attr.value == "format":
        if isinstance(node.func.value, (cst.SimpleString, cst.ConcatenatedString)):
            yield from (argument.value for argument in node.args)
    elif isinstance(node.func, cst.Name) and node.func.value in ("str", "repr"):
        yield from (argument.value for argument in node.args[:1])


def _elements(node: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    if isinstance(node, cst.Tuple):
        yield from (element.value for element in node.elements)
    else:
        yield node
