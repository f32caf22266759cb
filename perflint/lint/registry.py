"""Checks: plain functions registered by LibCST node type, all run in one walk."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from perflint.findings import Confidence
    from perflint.index.project import FileIndex
    from perflint.lint.context import Context
    from perflint.syntax.scopes import Statement
    from perflint.training.steps import Point

Check = Callable[[Any, "Context"], None]
Gate = Callable[[ast.Call, "FileIndex"], bool]
StatementGate = Callable[["Point"], "bool | Confidence"]
PlaceGate = Callable[["FileIndex"], "Iterable[tuple[Statement, Confidence]]"]
RowGate = Callable[["FileIndex"], Iterable[int]]

checks: dict[str, list[Check]] = {}
"""Name of a LibCST node type to functions."""

step_triggers: dict[str, set[str]] = {}
"""Code to the last names of calls that may make a finding of it in step code (``*format*``: formatting)."""

renamed_triggers: dict[str, set[str]] = {}
"""Code to the qualified names of calls that may make a finding of it in step code under whichever name."""

forward_triggers: dict[str, set[str]] = {}
"""The same for the code of a model's forward pass."""

forward_clues: dict[str, set[str]] = {}
"""Code to the last names of calls that a forward pass has to make before a rule can have anything to say there."""

forward_decisions: dict[str, set[str]] = {}
"""The same where Python also has to decide on what the call gives."""

step_statements: dict[str, list[StatementGate]] = {}
"""Code to functions that say whether a statement at a step (or in a forward pass) is worth parsing for it."""

any_statements: dict[str, list[PlaceGate]] = {}
"""Code to functions that give the statements of a file, anywhere in it, that are worth parsing for it."""

call_gates: dict[str, list[tuple[str, Gate]]] = {}
"""Qualified name of a call to (code, gate): the call may make a finding anywhere if the gate says so."""

method_gates: dict[str, list[tuple[str, str]]] = {}
"""Last name of a method to (code, qualified name), for calls on objects that a name does not show."""


def check(node_type: str) -> Callable[[Check], Check]:
    """Register a function for a LibCST node type (``Call``); it reports findings through its context.

    All checks run whatever is selected, so that the rules which share a place always agree on who speaks.
    """

    def register(function: Check) -> Check:
        checks.setdefault(node_type, []).append(function)
        return function

    return register


def triggers(code: str, names: Iterable[str], forward: bool = False) -> None:
    """Say which calls in step code are worth parsing for a rule, or in the code of a forward pass."""
    (forward_triggers if forward else step_triggers).setdefault(code, set()).update(names)


def renamed(code: str, call: str) -> None:
    """Say which call in step code is worth parsing also under another name: ``from gc import collect as sweep``."""
    renamed_triggers.setdefault(code, set()).add(call)


def forward_clue(code: str, names: Iterable[str], decided: bool = False) -> None:
    """Say which calls make a forward pass worth a look, where a ``step_gate`` finds the statements in it.

    ``decided``: they do so only where Python decides on what they give (``index.clues``).
    """
    (forward_decisions if decided else forward_clues).setdefault(code, set()).update(names)


def step_gate(code: str, may_match: StatementGate) -> None:
    """Say which statements of step code (``point.step.forward``: of a forward pass) are worth parsing for a rule.

    A gate may answer with the most confidence that a finding there can have: what nobody will be shown is not parsed.
    """
    step_statements.setdefault(code, []).append(may_match)


def statement_gate(code: str, may_match: PlaceGate) -> None:
    """Say which statements of a file are worth parsing for a rule, and the most confidence that a finding can have.

    It is asked of every file: look at the words of the file before anything that parses it.
    """
    any_statements.setdefault(code, []).append(may_match)


def gate(code: str, call: str, may_match: Gate) -> None:
    """Say which calls anywhere are worth parsing for a rule."""
    call_gates.setdefault(call, []).append((code, may_match))


row_gates: dict[str, list[RowGate]] = {}
"""Code to functions that name the rows of a file, definitions among them, that are worth parsing for it."""

declared_triggers: dict[str, set[str]] = {}
"""Code to the settings (``sync_calls``) whose names are worth parsing for it in step code."""


def row_gate(code: str, rows: RowGate) -> None:
    """Say which rows of a file are worth parsing for a rule: for what the index alone has found already."""
    row_gates.setdefault(code, []).append(rows)


def declares(code: str, setting: str) -> None:
    """Say which setting holds names of calls that are worth parsing for a rule in step code."""
    declared_triggers.setdefault(code, set()).add(setting)


def method_gate(code: str, method: str, qualified: str) -> None:
    """The same for a method of an object (``paddle.Model.fit``)."""
    method_gates.setdefault(method, []).append((code, qualified))
