"""Whether a place runs repeatedly during a training: an evaluation after each epoch, or every n steps."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from perflint.dataflow.call_graph import CallGraph
from perflint.syntax.scopes import LOOPS, Scope, Statement, terminal
from perflint.syntax.vocabulary import trains
from perflint.training.training_calls import TrainingCalls

if TYPE_CHECKING:
    from perflint.index.project import FileIndex

_MOST_CALLERS = 3
_STEPS = frozenset({"backward", "minimize"})


def runs_while_training(file: FileIndex, scope: Scope, statement: Statement, depth: int = 0) -> bool:
    """Whether a loop that trains runs a statement, directly or through the functions around it.

    Example: ``evaluate(model, dev_loader)`` in a loop over epochs that also calls ``train_epoch(...)``.
    """
    if any(
        isinstance(link.node, LOOPS) and link.branch == "body" and _trains_in(file, scope, link.node)
        for link in statement.around
    ):
        return True
    if depth >= _MOST_CALLERS or scope is file.scopes.module:
        return False
    return any(
        site.scope is not scope and runs_while_training(site.file, site.scope, site.statement, depth + 1)
        for site in CallGraph.of(file.project).calls(file, scope)
    )


def _trains_in(file: FileIndex, scope: Scope, loop: ast.stmt) -> bool:
    """Whether a training step, or a function named like one, runs in the body of a loop."""
    return any(_trains(file, scope, call) for statement in scope.statements_in(loop) for call in statement.calls)


def _trains(file: FileIndex, scope: Scope, call: ast.Call) -> bool:
    last = terminal(call) or ""
    return trains(last) or last in _STEPS or TrainingCalls.of(file.project).call_trains(file, scope, call)
