"""Incomplete AMP: a scaler without ``auto_cast`` (PPF304) or in bfloat16 (PPF305), O2 without ``decorate`` (PPF302)."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import libcst as cst

from perflint import catalogue
from perflint.checks.arguments import find_argument
from perflint.checks.edits import insert_argument
from perflint.facts import loss_scaling, programs
from perflint.facts.loss_scaling import AUTO_CAST, POSITIONS, SCALER
from perflint.findings import Confidence, Edit, Fix
from perflint.index.project import FileIndex
from perflint.lint.context import Context
from perflint.lint.registry import check, statement_gate
from perflint.syntax.scopes import Statement

O2, NO_CAST, BFLOAT16 = "PPF302", "PPF304", "PPF305"


@statement_gate(NO_CAST)
def _without_cast(file: FileIndex) -> Iterator[tuple[Statement, Confidence]]:
    if _has_scaler(file) and loss_scaling.has_no_half(file) and programs.trains(file):
        yield from _made(file)


@statement_gate(BFLOAT16)
def _for_bfloat16(file: FileIndex) -> Iterator[tuple[Statement, Confidence]]:
    if _has_scaler(file) and loss_scaling.has_only_bfloat16(file) and programs.trains(file):
        yield from _made(file)


def _has_scaler(file: FileIndex) -> bool:
    return file.has("Scaler") and bool(loss_scaling.scalers(file))


def _made(file: FileIndex) -> Iterator[tuple[Statement, Confidence]]:
    for _, statement, _ in loss_scaling.scalers(file):
        yield statement, Confidence.HIGH


@statement_gate(O2)
def _o2(file: FileIndex) -> Iterator[tuple[Statement, Confidence]]:
    if not file.has("O2") or not file.has("auto_cast"):
        return
    if not loss_scaling.keeps_float32(file) or not programs.trains(file):
        return
    for _, statement, call in file.calls_named("auto_cast"):
        if loss_scaling.value_of(call, AUTO_CAST, "level") == "O2":
            yield statement, Confidence.HIGH


@check("Call")
def scaler(call: cst.Call, context: Context) -> None:
    """Report a scaler in a program that trains in float32 throughout, or in bfloat16."""
    if context.callee(call) != SCALER or context.claimed or not _is_made_here(context):
        return
    if loss_scaling.has_no_half(context.file):
        rule = catalogue.shipped()[NO_CAST]
        context.report(NO_CAST, call, Fix(rule.fix_title, (), rule.fix_level, rule.fix_reason))
    elif loss_scaling.has_only_bfloat16(context.file):
        rule = catalogue.shipped()[BFLOAT16]
        enable = find_argument(call, "enable", 0)
        edits = (
            [Edit(*context.range(enable.value), "False")]
            if enable is not None
            else insert_argument(call, "enable=False", context)
        )
        context.report(BFLOAT16, call, Fix(rule.fix_title, tuple(edits), rule.fix_level, rule.fix_reason))


def _is_made_here(context: Context) -> bool:
    """Whether the current statement creates a scaler that is always used, in a program that trains."""
    made = {statement.node for _, statement, _ in loss_scaling.scalers(context.file)}
    point = context.point
    return point is not None and point.statement.node in made and programs.trains(context.file)


@check("Call")
def o2_alone(call: cst.Call, context: Context) -> None:
    """Report ``auto_cast(level="O2")`` at a step of a program that leaves the weights in float32."""
    if context.callee(call) != AUTO_CAST or context.claimed or context.step is None:
        return
    level = find_argument(call, "level", POSITIONS[AUTO_CAST]["level"])
    enable = find_argument(call, "enable", 0)
    if level is None or not _says(level, "O2", context) or not (enable is None or _says(enable, True, context)):
        return
    point = context.here
    if not loss_scaling.keeps_float32(point.file) or not programs.is_always_reached(
        point.file, point.scope, point.statement
    ):
        return
    dtype = find_argument(call, "dtype", POSITIONS[AUTO_CAST]["dtype"])
    given = f", dtype={context.text(dtype.value)}" if dtype is not None else ""
    rule = catalogue.shipped()[O2]
    title = rule.fix_title.format(dtype=given)
    context.report(O2, level, Fix(title, (), rule.fix_level, rule.fix_reason), context.step)


def _says(argument: cst.Arg, value: object, context: Context) -> bool:
    node = context.expression(argument.value)
    return isinstance(node, ast.Constant) and node.value == value
