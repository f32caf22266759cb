"""Finds which calls log, in which way, and whether they read a tensor for it."""

from __future__ import annotations

import libcst as cst

from perflint.checks.arguments import declaration, given
from perflint.checks.tensor_reads import tensor_read_by
from perflint.lint.beside import PLAIN_LOG, TENSOR_LOG
from perflint.lint.context import Context, local_name
from perflint.syntax.vocabulary import LOGGER_METHODS, PRINTS, PROGRESS, RECORDERS, means_logger

_RUNS = frozenset({"wandb.log", "swanlab.log", "mlflow.log_metric", "mlflow.log_metrics"})


def log_family(call: cst.Call, context: Context) -> str:
    """``text`` (print, a logger), ``progress`` (a tqdm bar), ``record`` (a curve), ``declared`` (by the configuration).

    ``""`` for other calls.
    """
    if declaration(call, context.settings.logging_calls, context) is not None:
        return "declared"
    function = call.func
    if isinstance(function, cst.Name):
        return "text" if function.value in PRINTS and not context.file.names.is_bound(function.value) else ""
    if not isinstance(function, cst.Attribute):
        return ""
    method = function.attr.value
    if method in RECORDERS:
        return "record"
    if method in PROGRESS:
        return "progress"
    name = local_name(function)
    if context.file.names.resolve(name) in _RUNS:
        return "record"
    if method in LOGGER_METHODS:
        receiver = local_name(function.value) or context.text(function.value)
        if method == "write":
            return "text" if receiver.endswith(("tqdm", "pbar")) else ""
        if means_logger(receiver) and not receiver.endswith(("math", "np", "paddle", "catalog", "dialog")):
            return "text"
    return ""


def code_of(call: cst.Call, context: Context) -> str:
    """The rule that a logging call belongs to: PPF202 when it reads a tensor, PPF405 when it reads none."""
    if context.runs_on_cpu:
        return PLAIN_LOG
    declared = declaration(call, context.settings.logging_calls, context)
    shown = call.args if declared is None else given(call, declared, context)
    return TENSOR_LOG if any(reads(argument.value, context) for argument in shown) else PLAIN_LOG


def reads(node: cst.CSTNode, context: Context) -> bool:
    """Whether what is logged reads a tensor, explicitly or by converting it to text."""
    if isinstance(node, cst.Lambda):
        return False
    if isinstance(node, (cst.Name, cst.Attribute, cst.Subscript)):
        return context.kind(node).is_tensor or _is_part_of_read(node, context)
    if isinstance(node, cst.Call):
        # A call's own result is logged, not its arguments, unless it only passes them on.
        if tensor_read_by(node, context) is not None or context.kind(node).is_tensor:
            return True
        return _passes_on(node) and any(reads(argument.value, context) for argument in node.args)
    return any(reads(child, context) for child in node.children)


def _is_part_of_read(node: cst.BaseExpression, context: Context) -> bool:
    """Whether an expression takes a part of a read value: ``loss.numpy()[0]``."""
    while isinstance(node, (cst.Attribute, cst.Subscript)):
        node = node.value
    return isinstance(node, cst.Call) and tensor_read_by(node, context) is not None


def _passes_on(call: cst.Call) -> bool:
    """Whether a call returns its argument, as text or in a list: ``str(loss)``, ``" ".join(parts)``."""
    if isinstance(call.func, cst.Attribute):
        return call.func.attr.value in ("format", "join", "update", "append")
    return local_name(call.func) in ("str", "repr", "round", "format", "dict", "list", "max", "min")
