"""Registers checks (plain functions by LibCST node type, all run in one walk) and gates (where to run them)."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from perflint.findings import Confidence
    from perflint.index.project import FileIndex
    from perflint.lint.context import Context
    from perflint.syntax.scopes import Statement
    from perflint.training.steps import Point, Step

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
