"""Registers checks and gates, and asks the gates which statements can hold a finding of the selected rules."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, wraps
from typing import TYPE_CHECKING, Any, TypeVar

from perflint.configuration.settings import Settings
from perflint.findings import Confidence
from perflint.flow.flow import Flow
from perflint.flow.values import Values
from perflint.index.project import FileIndex
from perflint.query import query
from perflint.stopwatch import phase
from perflint.syntax.names import dotted, spellings
from perflint.syntax.scopes import Scope, Statement
from perflint.training.clues import Clues
from perflint.training.evidence import terminal_names
from perflint.training.steps import Point, points_of

if TYPE_CHECKING:
    from perflint.findings import Confidence
    from perflint.index.project import FileIndex
    from perflint.lint.context import Context
    from perflint.syntax.scopes import Statement
    from perflint.training.steps import Point, Step

# Registers checks (plain functions by LibCST node type, all run in one walk) and gates (where to run them).

Check = Callable[[Any, "Context"], None]
StepCheck = Callable[[Any, "Context", "Step"], None]
Gate = Callable[[ast.Call, "FileIndex"], bool]
StatementGate = Callable[["Point"], "bool | Confidence"]
PlaceGate = Callable[["FileIndex"], "Iterable[tuple[Statement, Confidence]]"]
RowGate = Callable[["FileIndex"], Iterable[int]]
_Names = defaultdict[str, set[str]]
_Function = TypeVar("_Function", bound=Callable[..., Any])

checks: defaultdict[str, list[Check]] = defaultdict(list)
"""Functions by the name of a LibCST node type."""

step_triggers: _Names = _Names(set)
"""Code to the last names of calls that may make a finding of it in step code (``*format*``: formatting)."""

renamed_triggers: _Names = _Names(set)
"""Code to the qualified names of calls that may make one under another name: ``from gc import collect as sweep``."""

declared_triggers: _Names = _Names(set)
"""Code to the settings (``sync_calls``) that name calls which may make one."""

forward_triggers: _Names = _Names(set)
"""Code to the last names of calls that may make a finding of it in the forward pass of a model."""

close_clues: _Names = _Names(set)
"""Those among them that cost too little to follow calls of functions that contain nothing else."""

forward_clues: _Names = _Names(set)
"""Code to the last names of calls without which the ``step_gate`` of the rule need not look at a forward pass."""

forward_decisions: _Names = _Names(set)
"""The same, for calls whose result Python also has to test (``training.clues``)."""

method_triggers: _Names = _Names(set)
"""Code to the last names of methods that may make a finding of it anywhere (``fit`` of a ``paddle.Model``)."""

step_statements: defaultdict[str, list[StatementGate]] = defaultdict(list)
any_statements: defaultdict[str, list[PlaceGate]] = defaultdict(list)
row_gates: defaultdict[str, list[RowGate]] = defaultdict(list)
"""Code to its functions, as registered by ``step_gate``, ``statement_gate`` and ``row_gate``."""

call_gates: defaultdict[str, list[tuple[str, Gate]]] = defaultdict(list)
"""Qualified name of a call to (code, gate): the call may be a finding anywhere if the gate says so."""


def _entered(table: defaultdict[str, list[Any]], key: str) -> Callable[[_Function], _Function]:
    """A decorator that adds a function to a table."""

    def enter(function: _Function) -> _Function:
        table[key].append(function)
        return function

    return enter


def check(node_type: str) -> Callable[[Check], Check]:
    """Register a function for a LibCST node type (``Call``); it reports findings through its context.

    All checks run whatever is selected, so that rules that share a place always agree on which one reports it.
    """
    return _entered(checks, node_type)


def step_check(node_type: str, forward: bool = False) -> Callable[[StepCheck], StepCheck]:
    """Register a function for nodes that run at each training step, if nothing is reported there yet; it gets the step.

    ``forward``: also for those in the forward pass of a model (``Step.forward``).
    """

    def register(function: StepCheck) -> StepCheck:
        @check(node_type)
        @wraps(function)
        def ask(node: Any, context: Context) -> None:
            step = context.hot if forward else context.step
            if step is not None and not context.claimed:
                function(node, context, step)

        return function

    return register


def step_gate(code: str) -> Callable[[StatementGate], StatementGate]:
    """Register a gate for statements in steps (``point.step.forward``: in a forward pass) that a rule needs parsed.

    A gate may answer with the highest confidence that a finding there can have: what will not be shown is not parsed.
    """
    return _entered(step_statements, code)


def statement_gate(code: str) -> Callable[[PlaceGate], PlaceGate]:
    """Register a gate for statements anywhere that a rule needs parsed, with the highest confidence of a finding.

    It is called for every file, so it should look at the words of the file before anything that parses it.
    """
    return _entered(any_statements, code)


def row_gate(code: str) -> Callable[[RowGate], RowGate]:
    """Register a gate for rows that a rule needs parsed, for findings that come from the index alone."""
    return _entered(row_gates, code)


def gate(code: str, call: str, may_match: Gate = lambda _call, _file: True) -> None:
    """Register a gate for calls anywhere that a rule needs parsed."""
    call_gates[call].append((code, may_match))


# The gates decide which statements can contain a finding, from the index alone, before LibCST parses anything.
#
# A gate may pass a statement that turns out to be clean; it must never stop one that a check would report.
# ``tests/test_real_code.py`` compares gated with ungated runs on real code.

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
    calls = _selected(renamed_triggers, codes)
    renamed = frozenset(name for name in file.names.bound if file.names.resolve(name) in calls)
    triggers = _selected(step_triggers, codes) | _declared(codes, settings) | renamed
    forward = _selected(forward_triggers, codes) | renamed
    asked = [gate for code, gates in step_statements.items() if code in codes for gate in gates]
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
    named = {row for code, gates in row_gates.items() if code in codes for gate in gates for row in gate(file)}
    calls = _calls(file, codes)
    return Rows(frozenset(named | calls), frozenset(calls))


@phase("gates")
def place_rows(file: FileIndex, codes: frozenset[str], settings: Settings) -> Rows:
    """The rows of a file at which these rules can find something in the statement itself, wherever it runs."""
    found = frozenset(
        statement.node.lineno
        for code, gates in any_statements.items()
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
    wanted = _selected(declared_triggers, codes)
    return frozenset(name.rpartition(".")[2] for setting in wanted for name in getattr(settings, setting))


def forward_clues_of(codes: frozenset[str], sure: bool = False) -> Clues:
    """What makes a model's forward pass worth checking for these rules; ``sure``: if it certainly leads there."""
    calls = _selected(forward_triggers, codes) | _selected(forward_clues, codes)
    every = (*forward_triggers.items(), *forward_clues.items())
    far = frozenset().union(*(names - close_clues[code] for code, names in every if code in codes))
    return Clues(calls, _selected(forward_decisions, codes), sure, calls - far)


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
) -> tuple[dict[str, list[tuple[str, Gate]]], frozenset[str], frozenset[str]]:
    """The calls that have gates for these rules, by qualified name; the methods; the last names of all those calls."""
    wanted = {name: gates for name, gates in call_gates.items() if any(code in codes for code, _ in gates)}
    methods = _selected(method_triggers, codes)
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
