"""Incomplete AMP: a scaler without ``auto_cast`` (PPF304), or one used with bfloat16 (PPF305)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from perflint import catalogue
from perflint.facts import amp, programs
from perflint.facts.programs import files_with, is_always_reached
from perflint.findings import Confidence, Edit, Fix
from perflint.index.project import FileIndex
from perflint.lint.context import Context
from perflint.lint.registry import check, statement_gate
from perflint.query import query
from perflint.rules.arguments import find_argument
from perflint.rules.edits import insert_argument
from perflint.syntax.names import dotted
from perflint.syntax.parameters import argument_of
from perflint.syntax.scopes import Scope, Statement
from perflint.syntax.tree import string_of

if TYPE_CHECKING:
    from perflint.index.project import FileIndex


# Finds how a program trains with AMP: which loss scalers it always uses, and what all of its ``auto_cast`` say.

AUTO_CAST, DECORATE, SCALER = "paddle.amp.auto_cast", "paddle.amp.decorate", "paddle.amp.GradScaler"
POSITIONS = {AUTO_CAST: {"level": 3, "dtype": 4}, DECORATE: {"level": 2, "dtype": 3}}
_DYNAMIC = 6
"""The place of the parameter that says whether a scaler adapts its factor; it does by default."""
_HALF_NAMES = frozenset({"auto_cast", "amp_guard", "autocast", "decorate", "amp_decorate", "amp_configs", "half"})
_HALF = re.compile(r"float16|fp16|bf16|\bamp_(?!scaler)|['\"]O[12]['\"]|\bautocast")
_CONVERTED = re.compile(
    r"\.(?:half|bfloat16|float16|to_|_to_impl|_transform)\(|set_default_dtype|default_dtype|from_pretrained|convert_dtype"
    r"|\.(?:to|astype|cast)\([^)]*16|MixPrecision|amp_configs|\.amp\s*=|decorate\("
)


@query
def scalers(file: FileIndex) -> list[tuple[Scope, Statement, ast.Call]]:
    """The statements of a file that create a scaler with a fixed factor, whatever the user chooses.

    One with dynamic scaling turns itself off at its first ``scale`` outside of float16, with a warning: so do Paddle
    2.5 to 3.3.1 (``AmpScaler.scale``).
    """
    return list(_scalers(file))


def _scalers(file: FileIndex) -> Iterator[tuple[Scope, Statement, ast.Call]]:
    for scope, statement, call in amp.amp_calls(file.scopes.scopes, file.names):
        if file.names.resolve(dotted(call.func) or "") != SCALER or not _is_on(argument_of(call, "enable", 0)):
            continue
        if not _is_off(argument_of(call, "use_dynamic_loss_scaling", _DYNAMIC)):
            continue
        node = statement.node
        name = dotted(node.targets[0]) if isinstance(node, ast.Assign) and node.value is call else None
        if name and is_always_reached(file, scope, statement) and file.matches(_scaled_by(name)):
            yield scope, statement, call


def _scaled_by(name: str) -> re.Pattern[str]:
    return re.compile(rf"\b{re.escape(name)}\.scale\(")


def _is_on(enable: ast.expr | None) -> bool:
    return enable is None or (isinstance(enable, ast.Constant) and enable.value is True)


def _is_off(enable: ast.expr | None) -> bool:
    return isinstance(enable, ast.Constant) and not enable.value


@query
def has_no_half(file: FileIndex) -> bool:
    """Whether the programs that load a file mention half precision only in its scalers."""
    return not any(one.matches(_HALF) or not _HALF_NAMES.isdisjoint(one.loads) for one in files_with(file))


@query
def has_only_bfloat16(file: FileIndex) -> bool:
    """Whether the programs that load a file turn AMP on, and each time in bfloat16, as a plain value."""
    found = False
    for one in files_with(file):
        for _, _, call in amp.amp_calls(one.scopes.scopes, one.names) if amp.mentions_amp(one) else ():
            name = one.names.resolve(dotted(call.func) or "")
            if name == SCALER or (name == AUTO_CAST and _is_off(argument_of(call, "enable", 0))):
                continue
            if name not in POSITIONS or value_of(call, name, "dtype") != "bfloat16":
                return False
            found = found or name == AUTO_CAST
    return found


@query
def keeps_float32(file: FileIndex) -> bool:
    """Whether nothing in the programs that load a file may convert the weights of a model to half precision."""
    return not any(one.matches(_CONVERTED) for one in files_with(file))


def value_of(call: ast.Call, name: str, parameter: str) -> str | None:
    """The plain text that ``auto_cast`` or ``decorate`` gets for a parameter."""
    given = argument_of(call, parameter, POSITIONS[name][parameter])
    return string_of(given) if given is not None else None


# Incomplete AMP: a scaler without ``auto_cast`` (PPF304) or in bfloat16 (PPF305), O2 without ``decorate`` (PPF302).

O2, NO_CAST, BFLOAT16 = "PPF302", "PPF304", "PPF305"


@statement_gate(NO_CAST)
def _without_cast(file: FileIndex) -> Iterator[tuple[Statement, Confidence]]:
    if _has_scaler(file) and has_no_half(file) and programs.trains(file):
        yield from _made(file)


@statement_gate(BFLOAT16)
def _for_bfloat16(file: FileIndex) -> Iterator[tuple[Statement, Confidence]]:
    if _has_scaler(file) and has_only_bfloat16(file) and programs.trains(file):
        yield from _made(file)


def _has_scaler(file: FileIndex) -> bool:
    return file.has("Scaler") and bool(scalers(file))


def _made(file: FileIndex) -> Iterator[tuple[Statement, Confidence]]:
    for _, statement, _ in scalers(file):
        yield statement, Confidence.HIGH


@statement_gate(O2)
def _o2(file: FileIndex) -> Iterator[tuple[Statement, Confidence]]:
    if not file.has("O2") or not file.has("auto_cast"):
        return
    if not keeps_float32(file) or not programs.trains(file):
        return
    for _, statement, call in file.calls_named("auto_cast"):
        if value_of(call, AUTO_CAST, "level") == "O2":
            yield statement, Confidence.HIGH


@check("Call")
def scaler(call: cst.Call, context: Context) -> None:
    """Report a scaler in a program that trains in float32 throughout, or in bfloat16."""
    if context.callee(call) != SCALER or context.claimed or not _is_made_here(context):
        return
    if has_no_half(context.file):
        rule = catalogue.shipped()[NO_CAST]
        context.report(NO_CAST, call, Fix(rule.fix_title, (), rule.fix_level, rule.fix_reason))
    elif has_only_bfloat16(context.file):
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
    made = {statement.node for _, statement, _ in scalers(context.file)}
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
    if not keeps_float32(point.file) or not programs.is_always_reached(point.file, point.scope, point.statement):
        return
    dtype = find_argument(call, "dtype", POSITIONS[AUTO_CAST]["dtype"])
    given = f", dtype={context.text(dtype.value)}" if dtype is not None else ""
    rule = catalogue.shipped()[O2]
    title = rule.fix_title.format(dtype=given)
    context.report(O2, level, Fix(title, (), rule.fix_level, rule.fix_reason), context.step)


def _says(argument: cst.Arg, value: object, context: Context) -> bool:
    node = context.expression(argument.value)
    return isinstance(node, ast.Constant) and node.value == value
