"""Programs that train in float32: no code that trains with them sets up AMP, or something leaves it off.

``with paddle.amp.auto_cast(enable=args.amp):`` is off if ``--amp`` is off by default, and no script passes it; with
``enable=cfg.train.amp``, if ``amp: False`` is in the configurations. What is not known counts as on.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from perflint.facts import amp
from perflint.facts.programs import files_with
from perflint.flow.branches import tests_within
from perflint.flow.calls import CallGraph, Certainty
from perflint.flow.constant_values import Found, Value, ValueOrigin
from perflint.flow.constants import Constants
from perflint.flow.sources import ValueSource, asked
from perflint.index.project import FileIndex, Place
from perflint.inputs.input_files import amp_settings
from perflint.query import query
from perflint.syntax.scopes import terminal
from perflint.syntax.tree import is_literal, string_of, walk
from perflint.syntax.vocabulary import is_no_training

_SETTING_UP = ("auto_cast", "amp_guard", "decorate", "amp_configs")
_MENTIONS = ("auto_cast", "amp_guard", "autocast", "GradScaler", "AmpScaler", "amp_configs", "use_amp", "amp_level")
_LOW = ("fp16", "bf16", "float16", "bfloat16", "use_fp16", "amp", "half")
"""Names of code that trains in less than float32, or handles such tensors."""
_MOST_CALLERS = 3


@dataclass(frozen=True)
class AmpSwitch:
    """What leaves AMP off: ``text`` is at a row of a file.

    ``is_option``: it is an option of the command line.
    """

    text: str
    path: str
    row: int
    is_option: bool = False


@dataclass(frozen=True)
class Float32:
    """Training in float32; ``switch``: what leaves AMP off, None if nothing sets it up."""

    switch: AmpSwitch | None = None


@query
def float32_of(file: FileIndex, driver: FileIndex) -> Float32 | None:
    """How far the training in a file, with its loop in another one, is in float32; None if it may not be."""
    loaded = [each for each in files_with(file) | files_with(driver) if not (each.is_quiet or each.is_offline)]
    switches: list[AmpSwitch | None] = []
    for each in sorted(loaded, key=lambda one: one.path):
        found = _switches_in(each)
        switches += found
        if None in found or (not found and _mentions(each, *_MENTIONS)):
            return None
    known = sorted(filter(None, switches), key=lambda switch: (not switch.is_option, switch.path, switch.row))
    if known:
        return Float32(known[0])
    return None if any(_mentions(each, *_LOW) for each in (file, driver)) else Float32()


@query
def _mentions(file: FileIndex, *words: str) -> bool:
    """Whether the code of a file, and not just a comment, has one of some names."""
    if file.is_foreign or not file.has_words(*words):
        return False
    named = {*words}
    for node in walk(file.tree):
        name = getattr(node, "id", None) or getattr(node, "attr", None) or getattr(node, "arg", None)
        if name in named or (isinstance(node, ast.Constant) and node.value in named):
            return True
    return False


@query
def _switches_in(file: FileIndex) -> Sequence[AmpSwitch | None]:
    """What leaves each setup of AMP in a file off; None for one that may be on."""
    if file.is_foreign or not file.has_words(*_SETTING_UP):
        return ()
    return [
        _left_off(Place(file, scope, statement), call, _MOST_CALLERS)
        for scope, statement, call in amp.amp_calls(file.scopes.scopes, file.names)
        if not (is_no_training(scope.name) or _scales(call))
    ]


def _scales(call: ast.Call) -> bool:
    return (terminal(call) or "").endswith("Scaler")


def _left_off(at: Place, call: ast.Call | None, callers: int) -> AmpSwitch | None:
    """What prevents a statement from running, or the setup of AMP in it from being on; None if nothing is known to."""
    statement = at.statement
    assert statement is not None
    enabling = amp.enabling(call, at.file.names) if call is not None else ()
    tests = [*((value, True) for value in enabling), *(tests_within(call, statement) if call is not None else ())]
    found = next(filter(None, (_off(test, at, truth) for test, truth in (*tests, *statement.conditions))), None)
    if found is not None or not callers or isinstance(at.scope.node, ast.Module) or at.scope.name.startswith("__"):
        return found
    sites = CallGraph.of(at.file.project).callers(at.function, Certainty.NAME)
    everywhere = [_left_off(site.place, None, callers - 1) for site in sites if site.scope is not at.scope]
    return everywhere[0] if everywhere and None not in everywhere else None


def _off(test: ast.expr, at: Place, truth: bool) -> AmpSwitch | None:
    """What makes a test come out differently, unless the user changes it; None if nothing is known to."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _off(test.operand, at, not truth)
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) is truth:
        return next(filter(None, (_off(part, at, truth) for part in test.values)), None)
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], (ast.Is, ast.Eq)) and is_literal(
        test.comparators[0], True
    ):
        return _off(test.left, at, truth)
    values = Constants.of(at.file.project).possible(test, at)
    if values and all(value.is_constant for value in values):
        return _constant(test, values, at, truth)
    return _configured([*asked(test, at).sources()], truth)


def _constant(test: ast.expr, values: Found, at: Place, truth: bool) -> AmpSwitch | None:
    """What gives a test its constant values: an option, an entry with a fallback, or the code itself."""
    if any(bool(value.value) is truth for value in values):
        return None
    steps = [(step.origin, step.name, value) for value in values for step in value.steps]
    for origin, name, value in steps:
        settings = amp_settings(at.file.path, name, at.file.project.inputs)
        if origin is ValueOrigin.OPTION:
            if value.node is None or value.place is None or any(each.is_on is truth for _, each in settings):
                return None
            return AmpSwitch(f"--{name}", value.place.file.path, value.node.lineno, is_option=True)
        if origin is ValueOrigin.FALLBACK:
            return _set_to(name, truth, at) if settings else _written(test, value, at)
    return _written(test, values[0], at)


def _written(test: ast.expr, value: Value, at: Place) -> AmpSwitch:
    """What is written in the code: ``enable=False``."""
    place, node = value.place or at, value.node or test
    name = value.steps[-1].name if value.steps else ""
    return AmpSwitch(f"{name}={value.value}" if name else str(value.value), place.file.path, node.lineno)


def _configured(found: Sequence[ValueSource], truth: bool) -> AmpSwitch | None:
    """What the configurations set all of some entries to: ``cfg.train.amp``, ``config["amp"]``."""
    switches = [_set_to(_key_of(each.node), truth, each.place) for each in found]
    return switches[0] if switches and None not in switches else None


def _key_of(node: ast.expr) -> str:
    """The last key of an entry of a configuration; ``""`` for anything else."""
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Subscript):
        return string_of(node.slice) or ""
    is_get = isinstance(node, ast.Call) and terminal(node) == "get" and bool(node.args)
    return (string_of(node.args[0]) or "") if is_get and isinstance(node, ast.Call) else ""


def _set_to(key: str, truth: bool, at: Place) -> AmpSwitch | None:
    """The first row that sets a key to the contrary, if no row, and no line that starts a program, sets it so."""
    settings = amp_settings(at.file.path, key, at.file.project.inputs) if key else []
    if not settings or any(each.is_on is truth for _, each in settings):
        return None
    path, first = settings[0]
    return AmpSwitch(first.text, path, first.row)
