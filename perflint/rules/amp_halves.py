"""Incomplete AMP: a scaler without ``auto_cast`` (PPF304), or one used with bfloat16 (PPF305)."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from perflint.catalogue import shipped
from perflint.facts import amp, programs
from perflint.facts.programs import files_with, is_always_reached
from perflint.index.project import FileIndex, Place
from perflint.lint.context import Context
from perflint.lint.registry import At, Candidate, InFile, rule
from perflint.query import query
from perflint.rules.arguments import set_argument, shown_argument
from perflint.syntax.names import dotted
from perflint.syntax.parameters import argument_of
from perflint.syntax.scopes import Scope, Statement
from perflint.syntax.tree import is_literal, string_of

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
    found = []
    for scope, statement, call in amp.amp_calls(file.scopes.scopes, file.names):
        if file.names.qualified(call.func) != SCALER or not _is_on(argument_of(call, "enable", 0)):
            continue
        if not _is_off(argument_of(call, "use_dynamic_loss_scaling", _DYNAMIC)):
            continue
        node = statement.node
        name = dotted(node.targets[0]) if isinstance(node, ast.Assign) and node.value is call else None
        if name and is_always_reached(Place(file, scope), statement) and file.matches(_scaled_by(name)):
            found.append((scope, statement, call))
    return found


def _scaled_by(name: str) -> re.Pattern[str]:
    return re.compile(rf"\b{re.escape(name)}\.scale\(")


def _is_on(enable: ast.expr | None) -> bool:
    return enable is None or is_literal(enable, True)


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
            name = one.names.qualified(call.func)
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

O2, NO_CAST, BFLOAT16 = (shipped()[code] for code in ("PPF302", "PPF304", "PPF305"))


def _scalers(in_half: Callable[[FileIndex], bool]) -> InFile:
    """What finds the scalers of programs that train, if their files say this about the dtype."""

    def found(file: FileIndex) -> list[Candidate]:
        is_there = file.has("Scaler") and bool(scalers(file)) and in_half(file) and programs.trains(file)
        return [Candidate(call, statement.node) for _, statement, call in scalers(file)] if is_there else []

    return found


_SCALERS = {NO_CAST.code: _scalers(has_no_half), BFLOAT16.code: _scalers(has_only_bfloat16)}


@rule(NO_CAST.code, BFLOAT16.code, at=At.ANYWHERE, find=_SCALERS)
def scaler(call: ast.Call, context: Context) -> None:
    """Report a scaler in a program that trains in float32 throughout, or in bfloat16."""
    if has_no_half(context.file):
        context.report(NO_CAST.fix(()), code=NO_CAST.code)
    elif has_only_bfloat16(context.file):
        edits = set_argument(call, argument_of(call, "enable", 0), "enable", "False", context)
        context.report(BFLOAT16.fix(edits), code=BFLOAT16.code)


def _o2(file: FileIndex) -> Iterator[Candidate]:
    if not file.has("O2") or not file.has("auto_cast"):
        return
    if not keeps_float32(file) or not programs.trains(file):
        return
    for _, statement, call in file.calls_named("auto_cast"):
        if value_of(call, AUTO_CAST, "level") == "O2":
            yield Candidate(call, statement.node)


@rule(O2.code, at=At.ANYWHERE, find=_o2)
def o2_alone(call: ast.Call, context: Context) -> None:
    """Report ``auto_cast(level="O2")`` at a step of a program that leaves the weights in float32."""
    if context.callee(call) != AUTO_CAST or context.step is None:
        return
    level = argument_of(call, "level", POSITIONS[AUTO_CAST]["level"])
    enable = argument_of(call, "enable", 0)
    if level is None or not is_literal(level, "O2") or not _is_on(enable):
        return
    point = context.here
    if not programs.is_always_reached(point.function, point.statement):
        return
    dtype = argument_of(call, "dtype", POSITIONS[AUTO_CAST]["dtype"])
    given = f", dtype={context.text(dtype)}" if dtype is not None else ""
    context.report(O2.words(dtype=given), shown_argument(call, level), step=context.step)
