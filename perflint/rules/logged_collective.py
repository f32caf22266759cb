"""PPF804: all ranks exchange a value at each step that only log lines show."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from perflint.catalogue import shipped
from perflint.facts.gradient_graphs import feeding_backward
from perflint.facts.usages import Aim, usages, usages_of_name
from perflint.flow.calls import CallGraph
from perflint.flow.uses import uses_in
from perflint.index.project import FileIndex, Place
from perflint.lint.context import Context
from perflint.lint.registry import At, rule
from perflint.paddle.inside import COLLECTIVES, DISTRIBUTED
from perflint.query import query
from perflint.syntax.names import dotted
from perflint.syntax.parameters import arguments_of
from perflint.syntax.scopes import Statement, terminal
from perflint.training.steps import Point

# Finds values that all ranks exchange at a step although only log lines show them.


def only_logged(point: Point, call: ast.Call) -> bool:
    """Whether a call exchanges a value between ranks that only log lines of the same function show."""
    name = _exchanged(point, call)
    scope = uses_in(point.function)
    if name is not None:
        if name in feeding_backward(point.scope):
            return False
        return _are_logs(usages_of_name(name, point, scope))
    if not _holds(point.statement, call) or not _exchanges(point.function, call):
        return False
    return _are_logs(usages(call, point, scope))


def _are_logs(aims: list[Aim]) -> bool:
    return bool(aims) and all(aim.is_log for aim in aims)


def _holds(statement: Statement, call: ast.Call) -> bool:
    """Whether a statement binds names to the result of a call, directly or after further computation."""
    return isinstance(statement.node, (ast.Assign, ast.AnnAssign)) and call in statement.calls


def _exchanged(point: Point, call: ast.Call) -> str | None:
    """The name of the tensor or the list that one of Paddle's collectives fills in place."""
    if not _is_collective(point.file, call) or not isinstance(point.statement.node, ast.Expr):
        return None
    given = list(arguments_of(call))
    return dotted(given[0]) if given else None


def _is_collective(file: FileIndex, call: ast.Call) -> bool:
    if terminal(call) not in COLLECTIVES:
        return False
    return file.names.qualified(call.func).startswith(DISTRIBUTED)


_MOST_FUNCTIONS = 30
"""How many functions that a call leads to are looked at."""


def _exchanges(at: Place, call: ast.Call) -> bool:
    """Whether a call reaches a function of the project that does a collective and returns the result."""
    found = _called(at, call)
    return found is not None and found.scope is not at.scope and _makes_collective(found)


def _called(at: Place, call: ast.Call) -> Place | None:
    return CallGraph.of(at.file.project).called(at, call.func)


@query
def _makes_collective(at: Place) -> bool:
    """Whether a function, or one that it calls, exchanges its argument, and does not train: ``reduce_mean(tensor)``."""
    waiting, seen = [at], {at.scope}
    while waiting and len(seen) < _MOST_FUNCTIONS:
        there = waiting.pop()
        calls, nodes = list(there.scope.calls), [each.node for each in there.scope.statements]
        returns = any(isinstance(node, ast.Return) and node.value is not None for node in nodes)
        if not returns or any(terminal(call) in ("backward", "step", "minimize") for call in calls):
            continue
        if any(_is_collective(there.file, call) for call in calls):
            return True
        found = [reached for call in calls if (reached := _called(there, call)) is not None]
        waiting += [reached for reached in found if reached.scope not in seen]
        seen.update(reached.scope for reached in found)
    return False


# PPF804: all ranks exchange a value at each step that only log lines show.

RULE = shipped()["PPF804"]


def _only_logged_at(point: Point) -> Iterator[ast.Call]:
    return (call for call in point.statement.calls if only_logged(point, call))


@rule(RULE.code, at=At.STEP, find_at=_only_logged_at, claims=False)
def logged_collective(call: ast.Call, context: Context) -> None:
    """Report a collective at each step whose result only log lines show."""
    context.report(RULE.words("log"))
