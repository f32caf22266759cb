"""PPF202 and PPF405: logging at each step, with and without a tensor in it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from perflint.checks import guard
from perflint.checks.declared_calls import declaration, given
from perflint.checks.host_read import tensor_read_by
from perflint.context import Context, local_name
from perflint.findings import Confidence
from perflint.gates import FORMATTING
from perflint.registry import check, declares, triggers

TENSOR_LOG, PLAIN_LOG = "PPF202", "PPF405"

_LOGGER = re.compile(r"(^|_|\.)(\w*logg?(er|ing|s)?)\d*(\(\))?$", re.IGNORECASE)
_LOGGER_METHODS = frozenset({"info", "warning", "warn", "error", "critical", "log", "print", "train", "write"})
_PROGRESS = frozenset({"set_postfix", "set_postfix_str", "set_description", "set_description_str"})
RECORDERS = frozenset(
    {"add_scalar", "add_scalars", "add_histogram", "add_image", "add_images", "add_text", "add_figure", "add_hparams"}
    | {"log_metric", "log_metrics", "log_scalar"}
)
_RUNS = frozenset({"wandb.log", "swanlab.log", "mlflow.log_metric", "mlflow.log_metrics"})
_NAMES = frozenset({"print", "pprint"})

declares(PLAIN_LOG, "logging_calls")
declares(TENSOR_LOG, "logging_calls")
triggers(PLAIN_LOG, _LOGGER_METHODS | _PROGRESS | RECORDERS | _NAMES)
triggers(TENSOR_LOG, _LOGGER_METHODS | _PROGRESS | RECORDERS | _NAMES | {"format", "str", "repr", FORMATTING})


def log_family(call: cst.Call, context: Context) -> str:
    """``text`` (print, a logger), ``progress`` (a tqdm bar), ``record`` (a curve), ``declared`` (by the configuration).

    ``""`` for other calls.
    """
    if declaration(call, context.settings.logging_calls, context) is not None:
        return "declared"
    function = call.func
    if isinstance(function, cst.Name):
        return "text" if function.value in _NAMES and not context.file.names.is_bound(function.value) else ""
    if not isinstance(function, cst.Attribute):
        return ""
    method = function.attr.value
    if method in RECORDERS:
        return "record"
    if method in _PROGRESS:
        return "progress"
    name = local_name(function)
    if context.file.names.resolve(name) in _RUNS:
        return "record"
    if method in _LOGGER_METHODS:
        receiver = local_name(function.value) or context.text(function.value)
        if method == "write":
            return "text" if receiver.endswith(("tqdm", "pbar")) else ""
        if _LOGGER.search(receiver) and not receiver.endswith(("math", "np", "paddle", "catalog", "dialog")):
            return "text"
    return ""


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


def code_of(call: cst.Call, context: Context) -> str:
    """The rule that a logging call belongs to: PPF202 when it reads a tensor, PPF405 when it reads none."""
    if context.file.runs_on_cpu:
        return PLAIN_LOG
    return TENSOR_LOG if any(True for _ in _tensors(call, context)) else PLAIN_LOG


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


def _tensors(call: cst.Call, context: Context) -> Iterator[str]:
    """The source of the tensors that a logging call reads, explicitly or by making text of them."""
    declared = declaration(call, context.settings.logging_calls, context)
    for argument in call.args if declared is None else given(call, declared, context):
        yield from _read_in(argument.value, context)


def _read_in(node: cst.CSTNode, context: Context) -> Iterator[str]:
    if isinstance(node, cst.Lambda):
        return
    if isinstance(node, cst.BaseExpression):
        if isinstance(node, cst.Call):
            tensor = tensor_read_by(node, context)
            if tensor is not None:
                yield context.text(tensor)
                return
        elif isinstance(node, (cst.Name, cst.Attribute, cst.Subscript)):
            if context.kind(node).is_tensor:
                yield context.text(node)
            return
    if isinstance(node, cst.Call):
        # A call's own result is what is logged: its arguments are not, unless it only passes them on.
        if context.kind(node).is_tensor:
            yield context.text(node)
            return
        if not _passes_on(node, context):
            return
        for argument in node.args:
            yield from _read_in(argument.value, context)
        return
    for child in node.children:
        yield from _read_in(child, context)


def _passes_on(call: cst.Call, context: Context) -> bool:
    if isinstance(call.func, cst.Attribute):
        return call.func.attr.value in ("format", "join", "update", "append")
    return isinstance(call.func, cst.Name) and call.func.value in (
        "str",
        "repr",
        "round",
        "format",
        "dict",
        "list",
        "max",
        "min",
    )


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
