"""The gates decide which statements can contain a finding, from the index alone, before LibCST parses anything.

A gate may pass a statement that turns out to be clean; it must never stop one that a check would report.
``tests/test_real_code.py`` compares gated with ungated runs on real code.
"""

from __future__ import annotations

import ast
from collections.abc import Container, Mapping
from dataclasses import dataclass
from functools import cache

from perflint.configuration.settings import Settings
from perflint.dataflow.flow import Flow
from perflint.dataflow.values import Values
from perflint.findings import Confidence
from perflint.index.project import FileIndex
from perflint.lint import registry
from perflint.query import query
from perflint.stopwatch import phase
from perflint.syntax.names import dotted, spellings
from perflint.syntax.scopes import Scope, Statement
from perflint.training.clues import Clues
from perflint.training.evidence import terminal_names
from perflint.training.steps import Point, points_of

FORMATTING = "*format*"


@dataclass(frozen=True)
class Rows:
    """The first rows of the statements of a file that can contain a finding.

    ``typed``: those among them for which a check needs kinds of values outside the hot path.
    """

    all: frozenset[int] = frozenset()
    typed: frozenset[int] = frozenset()

    def __or__(self, other: Rows) -> Rows:
        return Rows(self.all | other.all, self.typed | other.typed)


@phase("gates")
def step_rows(file: FileIndex, codes: frozenset[str], settings: Settings) -> frozenset[int]:
    """The rows in steps where these rules can find something; the step loops must be known."""
    calls = _selected(registry.renamed_triggers, codes)
    renamed = frozenset(name for name in file.names.bound if file.names.resolve(name) in calls)
    triggers = _selected(registry.step_triggers, codes) | _declared(codes, settings) | renamed
    forward = _selected(registry.forward_triggers, codes) | renamed
    asked = [gate for code, gates in registry.step_statements.items() if code in codes for gate in gates]
    return frozenset(
        point.statement.node.lineno
        for point in points_of(file).values()
        if point.step is not None
        and (
            _triggered(point.statement, forward if point.step.forward else triggers)
            or any(_is_shown(gate(point), settings) for gate in asked)
        )
    )


@phase("gates")
def named_rows(file: FileIndex, codes: frozenset[str], settings: Settings) -> Rows:
    """The rows of a file with calls that these rules know by name, or that facts about the whole project name."""
    named = {row for code, gates in registry.row_gates.items() if code in codes for gate in gates for row in gate(file)}
    calls = _calls(file, codes)
    return Rows(frozenset(named | calls), frozenset(calls))


@phase("gates")
def place_rows(file: FileIndex, codes: frozenset[str], settings: Settings) -> Rows:
    """The rows of a file at which these rules can find something in the statement itself, wherever it runs."""
    found = frozenset(
        statement.node.lineno
        for code, gates in registry.any_statements.items()
        if code in codes
        for gate in gates
        for statement, confidence in gate(file)
        if confidence >= settings.min_confidence
    )
    return Rows(found, found)


def _is_shown(answer: bool | Confidence, settings: Settings) -> bool:
    return answer >= settings.min_confidence if isinstance(answer, Confidence) else answer


def _declared(codes: frozenset[str], settings: Settings) -> frozenset[str]:
    """Last names of the calls that the user has declared, for these rules."""
    wanted = _selected(registry.declared_triggers, codes)
    return frozenset(name.rpartition(".")[2] for setting in wanted for name in getattr(settings, setting))


def forward_clues(codes: frozenset[str], sure: bool = False) -> Clues:
    """What makes a model's forward pass worth checking for these rules; ``sure``: if it certainly leads there."""
    calls = _selected(registry.forward_triggers, codes) | _selected(registry.forward_clues, codes)
    every = (*registry.forward_triggers.items(), *registry.forward_clues.items())
    far = frozenset().union(*(names - registry.close_clues[code] for code, names in every if code in codes))
    return Clues(calls, _selected(registry.forward_decisions, codes), sure, calls - far)


def _selected(names: Mapping[str, set[str]], codes: frozenset[str]) -> frozenset[str]:
    return frozenset().union(*(found for code, found in names.items() if code in codes))


@phase("kinds")
def type_rows(file: FileIndex, rows: Container[int]) -> None:
    """Compute the kinds of values in the functions that have statements on these rows."""
    for scope in file.scopes.scopes:
        if any(statement.node.lineno in rows for statement in scope.statements):
            ensure_points(file, scope)


def type_all(file: FileIndex) -> None:
    """Compute the kinds of values at every statement, as an ungated run needs them."""
    for scope in file.scopes.scopes:
        ensure_points(file, scope)


def ensure_points(file: FileIndex, scope: Scope) -> None:
    """Compute the kinds of values at each statement of a scope outside the hot path."""
    if all(statement.node in points_of(file) for statement in scope.statements):
        return
    flow = Flow(scope, file, Values.of(file.project).base_env(file, scope, {}), guess_losses=False).run()
    for statement in scope.statements:
        if statement.node not in points_of(file):
            env = flow.before.get(statement.node, {})
            points_of(file)[statement.node] = Point(statement, scope, None, env, None, file)


def _triggered(statement: Statement, triggers: frozenset[str]) -> bool:
    return not triggers.isdisjoint(terminal_names(statement)) or (FORMATTING in triggers and statement.formats)


@cache
def _wanted_calls(
    codes: frozenset[str],
) -> tuple[dict[str, list[tuple[str, registry.Gate]]], frozenset[str], frozenset[str]]:
    """The calls that have gates for these rules, by qualified name; the methods; the last names of all those calls."""
    wanted = {name: gates for name, gates in registry.call_gates.items() if any(code in codes for code, _ in gates)}
    methods = _selected(registry.method_triggers, codes)
    return wanted, methods, frozenset(name.rpartition(".")[2] for name in spellings(wanted))


def _calls(file: FileIndex, codes: frozenset[str]) -> set[int]:
    _, methods, words = _wanted_calls(codes)
    methods = methods if file.has("paddle") else frozenset()
    found: set[int] = set()
    if not file.has_words(*words, *methods):
        return found
    for scope in file.scopes.scopes:
        found.update(node.lineno for node in _with_calls(file, scope, codes, methods))
    return found


@query
def _with_calls(file: FileIndex, scope: Scope, codes: frozenset[str], methods: frozenset[str]) -> list[ast.stmt]:
    """The statements of a function with calls that have gates and pass them."""
    wanted, names = _wanted_calls(codes)[0], file.names
    found: list[ast.stmt] = []
    for statement in scope.statements:
        for call in (*statement.calls, *statement.later):
            if isinstance(call.func, ast.Attribute) and call.func.attr in methods:
                found.append(statement.node)
            local = dotted(call.func)
            asked = wanted.get(names.resolve(local), ()) if local is not None else ()
            if any(code in codes and gate(call, file) for code, gate in asked):
                found.append(statement.node)
    return found
