"""Programs that train in float32: no code that trains with them sets up AMP, or something leaves it off.

``with paddle.amp.auto_cast(enable=args.amp):`` is off if ``--amp`` is off by default, and no script passes it; with
``enable=cfg.train.amp``, if ``amp: False`` is in the configurations. What is not known counts as on.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from perflint.facts import amp
from perflint.facts.gradient_graphs import modes_in
from perflint.facts.programs import files_with
from perflint.flow.branches import tests_within
from perflint.flow.calls import CallGraph, Certainty
from perflint.flow.constant_values import OPEN, Found, ValueOrigin
from perflint.flow.constants import Constants
from perflint.flow.sources import ValueSource, asked
from perflint.index.imports import Imports
from perflint.index.project import FileIndex, Place, Project
from perflint.inputs.input_files import amp_settings
from perflint.query import query
from perflint.syntax.names import dotted
from perflint.syntax.scopes import Scope, terminal
from perflint.syntax.tree import is_literal, string_of, walk
from perflint.syntax.vocabulary import is_no_training, trains

_SETTING_UP = ("auto_cast", "amp_guard", "decorate", "amp_configs")
_MENTIONS = ("auto_cast", "amp_guard", "autocast", "amp_configs", "use_amp", "amp_level")
_LOW = ("fp16", "bf16", "float16", "bfloat16", "use_fp16", "amp", "half")
"""Names of code that trains in less than float32, or handles such tensors."""
_QUANTIZES = ("QAT", "ImperativeQuantAware", "QuantConfig")
"""Names of training that simulates integers of 8 bits, which bfloat16 blurs: it has 8 significant bits itself."""
_SPEAKS = re.compile(r"amp(?:_|\b)|fp16|bf16|float16|half|precision|auto_?cast|mixed|\bO[12]\b", re.IGNORECASE)
"""Words of tests that decide about AMP, and not about training as a whole."""
_OF_SETTINGS = frozenset({"config", "cfg", "config_file", "config_path", "opt", "yml"})
"""Names of options for a configuration."""
_MOST_CALLERS = 3


class SwitchKind(IntEnum):
    """What leaves AMP off, the easiest to change first."""

    OPTION = 0
    SETTING = 1
    """A row of a configuration."""
    CODE = 2
    """What the code passes to a function, or leaves at its default."""
    DECIDED = 3
    """``auto_cast(enable=False)``: somebody wanted it so."""


@dataclass(frozen=True)
class AmpSwitch:
    """What leaves AMP off: ``text``, at a row of a file, which ``kind`` of thing; ``node``: None in other files."""

    text: str
    path: str
    row: int
    kind: SwitchKind
    node: ast.expr | None = None


@dataclass(frozen=True)
class Float32:
    """Training in float32; ``switch``: what leaves AMP off, None if nothing sets it up."""

    switch: AmpSwitch | None = None


@query
def float32_of(file: FileIndex, driver: FileIndex) -> Float32 | None:
    """How far the training in a file, with its loop in another one, is in float32; None if it may not be."""
    imports = Imports.of(file.project)
    loaded = files_with(file) | files_with(driver) | imports.closure(imports.on_path(file) | imports.on_path(driver))
    trained = sorted(
        (one for one in loaded if not (one.is_quiet or one.is_offline or one.is_static)), key=lambda one: one.path
    )
    own = (file, driver)
    if any(each.has_words(*_QUANTIZES) for each in own):
        return None
    switches = [switch for each in trained for switch in _switches_in(each, each in own)]
    if None in switches:
        return None
    if switches:
        found = [switch for each in own for switch in _switches_in(each, True) if switch is not None]
        found.sort(key=lambda one: (one.kind, one.row))
        is_open = not file.project.inputs.settings and any(map(_takes_settings, trained))
        return Float32(found[0]) if found and found[0].kind is not SwitchKind.DECIDED and not is_open else None
    if any(_mentions(each, each in own, *_MENTIONS) for each in trained):
        return None
    return None if any(_mentions(each, True, *_LOW) for each in own) else Float32()


@query
def _mentions(file: FileIndex, is_own: bool, *words: str) -> bool:
    """Whether the code of a file, and not just a comment, has one of some names: ``numpy.float16`` is none.

    ``is_own``: whether the step is there; otherwise functions that do other steps do not count. Nor does an option that
    is off by default, or what only that leads to: ``paddle.float16 if args.fp16 else paddle.float32``.
    """
    if file.is_foreign or not file.has_words(*words):
        return False
    named, inside = {*words}, set[ast.AST]()
    if not is_own:
        inside = {node for scope in file.scopes.scopes if _does_another_step(scope) for node in walk(scope.node)}
    for node in walk(file.tree):
        name = getattr(node, "id", None) or getattr(node, "attr", None) or getattr(node, "arg", None)
        is_named = name in named or (isinstance(node, ast.Constant) and node.value in named)
        if is_named and node not in inside and not (_is_harmless(node, file) or _is_left_off(node, file)):
            return True
    return False


def _is_left_off(node: ast.AST, file: FileIndex) -> bool:
    """Whether a name is that of an option that is off by default, or is read only if such an option is on."""
    name = getattr(node, "id", None) or getattr(node, "attr", None)
    load = next((each for each in file.loads.get(name, ()) if each.node is node), None) if name else None
    if load is None or load.statement is None or load.scope is None:
        return False
    at = Place(file, load.scope, load.statement)
    tests = [(load.node, True), *tests_within(load.node, load.statement), *load.statement.conditions]
    return any(_off(test, at, truth) is not None for test, truth in tests)


def _is_harmless(node: ast.AST, file: FileIndex) -> bool:
    """Whether a name is one of NumPy's, or ``paddle.amp`` itself, whose ``GradScaler`` alone turns nothing on."""
    name = file.names.resolve(dotted(node) or "")
    return name.startswith("numpy.") or name == "paddle.amp"


def _does_another_step(scope: Scope) -> bool:
    """Whether a function evaluates, or does a backward pass itself: AMP there is for its own step alone."""
    if isinstance(scope.node, ast.Module):
        return False
    modes = [mode.trains for mode in modes_in(scope)]
    evaluates = is_no_training(scope.name) or (bool(modes) and not any(modes) and not trains(scope.name))
    return evaluates or any(terminal(call) == "backward" for call in scope.calls)


@query
def _switches_in(file: FileIndex, is_own: bool) -> Sequence[AmpSwitch | None]:
    """What leaves each setup of AMP in a file off that a step may run under; None for one that may be on."""
    if file.is_foreign or not file.has_words(*_SETTING_UP):
        return ()
    return [
        _left_off(Place(file, scope, statement), call, _MOST_CALLERS)
        for scope, statement, call in amp.amp_calls(file.scopes.scopes, file.names)
        if not (is_no_training(scope.name) or _scales(call) or (not is_own and _does_another_step(scope)))
    ]


def is_turned_on(at: Place, call: ast.Call) -> bool:
    """Whether a setup of AMP is on by default, or a configuration, or a line of a script, turns it on."""
    conditions = [test for test, _ in at.statement.conditions] if at.statement is not None else []
    about_amp = [
        *amp.enabling(call, at.file.names),
        *(test for test in conditions if _SPEAKS.search(ast.unparse(test))),
    ]
    nodes = [node for test in about_amp for node in walk(test) if isinstance(node, ast.expr)]
    keys = {_key_of(node) or getattr(node, "id", "") for node in nodes}
    if any(_SPEAKS.search(key) and _is_set(key, True, at) for key in sorted(keys)):
        return True
    values = (value for test in about_amp for value in Constants.of(at.file.project).possible(test, at) or OPEN)
    return _left_off(at, call, _MOST_CALLERS) is None and all(value.is_constant and value.value for value in values)


def _scales(call: ast.Call) -> bool:
    return (terminal(call) or "").endswith("Scaler")


def _left_off(at: Place, call: ast.Call | None, callers: int) -> AmpSwitch | None:
    """What prevents a statement from running, or the setup of AMP in it from being on; None if nothing is known to."""
    statement = at.statement
    assert statement is not None
    enabling = amp.enabling(call, at.file.names) if call is not None else ()
    tests = [*(tests_within(call, statement) if call is not None else ()), *statement.conditions]
    about_amp = [(test, truth) for test, truth in tests if _SPEAKS.search(ast.unparse(test))]
    asked_for = [*((value, True) for value in enabling), *about_amp]
    found = next(filter(None, (_off(test, at, truth) for test, truth in asked_for)), None)
    if found is not None or not callers or isinstance(at.scope.node, ast.Module) or at.scope.is_special:
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
    if (
        isinstance(test, ast.Compare)
        and isinstance(test.ops[0], (ast.Is, ast.Eq))
        and is_literal(test.comparators[0], True)
    ):
        return _off(test.left, at, truth)
    constants = Constants.of(at.file.project)
    values = constants.possible(test, at)
    if values and all(value.is_constant for value in values):
        if any(bool(value.value) is truth for value in values):
            return None
        is_compared = isinstance(test, ast.Compare) and not isinstance(test.left, ast.Constant)
        written = constants.possible(test.left, at) if is_compared and isinstance(test, ast.Compare) else values
        return _constant(test, written, at, truth)
    return _configured([*asked(test, at).sources()], truth)


def _constant(test: ast.expr, values: Found, at: Place, truth: bool) -> AmpSwitch | None:
    """What gives a test its constant values: an option, an entry with a fallback, or the code itself."""
    for value in values:
        for step in value.steps:
            if step.origin is ValueOrigin.OPTION and value.node is not None and value.place is not None:
                path, row = value.place.file.path, value.node.lineno
                is_set = _is_set(step.name, truth, at)
                return None if is_set else AmpSwitch(f"--{step.name}", path, row, SwitchKind.OPTION, value.node)
            if step.origin is ValueOrigin.FALLBACK:
                return _set_to(step.name, truth, at)
    first = values[0]
    place, node = first.place or at, first.node or test
    name = first.steps[-1].name if first.steps else ""
    if name and (not first.calls or _is_refused(name, at)):  # if nothing calls the function, its default says little
        return None
    text = f"{name}={first.value!r}" if name else ast.unparse(test)
    return AmpSwitch(text, place.file.path, node.lineno, SwitchKind.CODE if name else SwitchKind.DECIDED, node)


def _is_refused(name: str, at: Place) -> bool:
    """Whether a function raises an error if it gets AMP: ``if fp16: raise RuntimeError("not supported")``."""
    raised = (statement for statement in at.scope.statements if isinstance(statement.node, ast.Raise))
    return any(truth and dotted(test) == name for statement in raised for test, truth in statement.conditions)


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
    """The option with the name of a key, or the first row that sets the key to the contrary.

    None if a row, or a line that starts a program, sets it so.
    """
    if not key or _is_set(key, truth, at):
        return None
    option = _option(at.file, key)
    if option is not None:
        return option
    path, first = next(iter(amp_settings(at.file.path, key, at.file.project.inputs)), ("", None))
    if first is not None:
        return AmpSwitch(first.text, path, first.row, SwitchKind.SETTING)
    return _assigned(at.file.project, key, truth)


@query
def _assigned(project: Project, key: str, truth: bool) -> AmpSwitch | None:
    """The row of the only code that sets a key, if that is to the contrary: ``_C.TRAIN.amp = False``."""
    found = [
        (file, node, node.value)
        for file in project.mentions.of(key)
        for _, statement in file.statements
        if isinstance(node := statement.node, ast.Assign)
        and any(isinstance(target, ast.Attribute) and target.attr == key for target in node.targets)
    ]
    if not found or not all(isinstance(value, ast.Constant) and bool(value.value) is not truth for *_, value in found):
        return None
    file, node, _ = found[0]
    return AmpSwitch(ast.unparse(node), file.path, node.lineno, SwitchKind.SETTING, node.value)


def _is_set(key: str, truth: bool, at: Place) -> bool:
    return any(each.is_on is truth for _, each in amp_settings(at.file.path, key, at.file.project.inputs))


@query
def _option(file: FileIndex, key: str) -> AmpSwitch | None:
    """The option of a program with a file that has the name of a key, if code reads it, or all options together."""
    loaded = files_with(file)
    for each in sorted(loaded, key=lambda one: (not trains(one.parts[-1]), one.path)):
        for _, _, call in each.calls_named("add_argument"):
            names = [string_of(argument) or "" for argument in call.args]
            is_named = any(name.startswith("-") and name.lstrip("-").replace("-", "_") == key for name in names)
            if is_named and any(_reads_option(other, key) for other in loaded):
                return AmpSwitch(names[-1], each.path, call.lineno, SwitchKind.OPTION, call)
    return None


def _reads_option(file: FileIndex, key: str) -> bool:
    """Whether code reads an option as an attribute, or all options together."""
    if any(call.args for _, _, call in file.calls_named("vars")):
        return True
    read = (load.node for load in file.loads.get(key, ()) if isinstance(load.node, ast.Attribute))
    return any(not file.names.resolve(dotted(node) or "").startswith("paddle.") for node in read)


@query
def _takes_settings(file: FileIndex) -> bool:
    """Whether a program asks for a configuration and has none by default, so that its defaults say little."""
    for _, _, call in file.calls_named("add_argument"):
        names = {(string_of(argument) or "").lstrip("-") for argument in call.args}
        if not names.isdisjoint(_OF_SETTINGS):
            default = next((keyword.value for keyword in call.keywords if keyword.arg == "default"), None)
            if default is None or not string_of(default):
                return True
    return False
