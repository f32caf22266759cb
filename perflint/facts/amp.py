"""Finds where AMP is used: which files of a project contain models that are trained with it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from perflint.findings import Confidence
from perflint.flow.branches import State, Switches
from perflint.flow.calls import CallGraph, Certainty
from perflint.index.hierarchy import Hierarchy
from perflint.index.imports import Imports
from perflint.index.project import Place
from perflint.query import query
from perflint.syntax.names import Names, dotted
from perflint.syntax.scopes import Scope, Statement, terminal
from perflint.syntax.vocabulary import is_no_training

if TYPE_CHECKING:
    from perflint.index.project import FileIndex, Project

_AMP_CALLS = frozenset(
    {"paddle.amp.auto_cast", "paddle.amp.decorate", "paddle.amp.GradScaler", "paddle.static.amp.decorate"}
)
_ENABLES_FIRST = frozenset({"paddle.amp.auto_cast", "paddle.amp.GradScaler"})
_TRAINS = re.compile(r"\.(backward|minimize|fit|train_batch)\(|GradScaler|AmpScaler|optimizers=")
"""Words of a program that trains: AMP is also used to predict."""

_CONFIDENCE = {State.UNSET: Confidence.LOW, State.OPTIONAL: Confidence.MEDIUM, State.ON: Confidence.HIGH}

Symbol = tuple["FileIndex", str]
"""A top-level function or class of a file; ``""`` means the module's own code."""


@query
def amp_files(project: Project) -> Mapping[str, Confidence]:
    """The paths of the files whose layers are trained with AMP, with the confidence."""
    return {file.path: confidence for file, confidence in _driven(project).items()}


@query
def confidence_in(file: FileIndex) -> Confidence | None:
    """The confidence that the layers of a file are trained with AMP; None if they are not."""
    return amp_files(file.project).get(file.path)


def _driven(project: Project) -> Mapping[FileIndex, Confidence]:
    """The files that are loaded by a program that trains with AMP.

    HIGH: AMP is on by default. MEDIUM: the user may turn it on. LOW: a parameter could, but no call in the project
    does.
    """
    symbols = _symbols(project)
    if not symbols:
        return {}
    imports = Imports.of(project)
    found: dict[FileIndex, Confidence] = {}
    for symbol, state in sorted(symbols.items(), key=lambda item: -item[1]):
        drivers = _using(project, symbol)
        if any(file.matches(_TRAINS) for file in drivers):
            for file in imports.closure(drivers):
                found.setdefault(file, _CONFIDENCE[state])
    return found


def _symbols(project: Project) -> Mapping[Symbol, State]:
    """The code that turns AMP on, by top-level function or class."""
    found: dict[Symbol, State] = {}
    for file in project.files.values():
        if not file.is_quiet and not file.is_foreign and not file.is_offline and mentions_amp(file):
            for scope, state in uses(file):
                symbol = file, _symbol(scope)
                found[symbol] = max(state, found.get(symbol, state))
    return found


def mentions_amp(file: FileIndex) -> bool:
    """Whether a file's text has a word of AMP at all, which is fast to compute."""
    return any(file.has(word) for word in ("auto_cast", "amp_guard", "Scaler", "decorate", "amp_configs"))


def uses(file: FileIndex) -> list[tuple[Scope, State]]:
    """The functions of a file that run something with AMP, and whether they do so by default."""
    return [(scope, state) for scope, _, state in places(file)]


@query
def places(file: FileIndex) -> list[tuple[Scope, Statement, State]]:
    """The statements of a file that turn AMP on, each with its function, and whether it is on by default."""
    return list(_places(file))


def _places(file: FileIndex) -> Iterator[tuple[Scope, Statement, State]]:
    switches = Switches.of(file.project)
    for scope, statement, call in amp_calls(file.scopes_where(_uses_amp), file.names):
        if is_no_training(scope.name):
            continue
        state = min(
            _enabled(call, Place(file, scope, statement)),
            switches.state_of_place(statement, Place(file, scope), call),
            switches.state_of_calls(Place(file, scope)),
        )
        if state is not State.OFF:
            yield scope, statement, state


def _uses_amp(at: Place) -> bool:
    return next(amp_calls([at.scope], at.file.names), None) is not None


def amp_calls(scopes: Iterable[Scope], names: Names) -> Iterator[tuple[Scope, Statement, ast.Call]]:
    """The calls that set AMP up, including ``Model.prepare`` with ``amp_configs`` and ``partial(auto_cast, ...)``."""
    for scope in scopes:
        for statement in scope.statements:
            for call in statement.calls:
                configured = terminal(call) == "prepare" and any(k.arg == "amp_configs" for k in call.keywords)
                if configured or _made_by(call, names) in _AMP_CALLS:
                    yield scope, statement, call


def _made_by(call: ast.Call, names: Names) -> str:
    """The name of what a call creates, or of what its result creates when called."""
    name = names.resolve(dotted(call.func) or "")
    return names.resolve(dotted(call.args[0]) or "") if _is_partial(name) and call.args else name


def _is_partial(name: str) -> bool:
    return name in ("functools.partial", "partial")


def _enabled(call: ast.Call, place: Place) -> State:
    """Whether the call's own arguments turn AMP on."""
    levels = [keyword.value for keyword in call.keywords if keyword.arg == "level"]
    if any(isinstance(level, ast.Constant) and level.value == "O0" for level in levels):
        return State.OFF
    switches = Switches.of(place.file.project)
    return min((switches.state(value, place) for value in enabling(call, place.file.names)), default=State.ON)


def enabling(call: ast.Call, names: Names) -> list[ast.expr]:
    """The arguments of a call that sets AMP up which decide whether it is on."""
    given = call.args[1:] if _is_partial(names.resolve(dotted(call.func) or "")) else call.args
    values = [keyword.value for keyword in call.keywords if keyword.arg in ("enable", "amp_configs")]
    return [*values, *(given[:1] if _made_by(call, names) in _ENABLES_FIRST and not values else [])]


def _using(project: Project, start: Symbol) -> set[FileIndex]:
    """The files whose code reaches a function or class, including its own file."""
    seen: set[Symbol] = set()
    queue = [start]
    while queue:
        symbol = queue.pop()
        if symbol not in seen:
            seen.add(symbol)
            queue += _users(project, *symbol)
    return {file for file, _ in seen}


def _users(project: Project, file: FileIndex, name: str) -> Iterator[Symbol]:
    """The code that calls a function, creates an object of a class, or inherits from it."""
    graph, owner = CallGraph.of(project), file.scopes.classes.get(name)
    if name in file.scopes.module.functions:
        for site in graph.each(Place(file, file.scopes.module.functions[name]), Certainty.SURE):
            yield site.file, _symbol(site.scope)
    elif owner is not None:
        for there, scope, _, _ in graph.objects(file, owner):
            yield there, _symbol(scope)
        for there, child in Hierarchy.of(project).descendants(owner):
            yield there, child.name


def _symbol(scope: Scope) -> str:
    """The name of the top-level function or class that a scope belongs to."""
    return scope.qualname.partition(".")[0]
