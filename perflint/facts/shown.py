"""Finds log statements that show a value at each step: keeping the value on the device would only move the read there.

Removing the read from ``losses.update(loss.item())`` gains nothing while ``print(losses.avg)`` also runs at each step.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from perflint.syntax.names import dotted
from perflint.syntax.scopes import Statement, statements_calling, terminal
from perflint.syntax.tree import base_of
from perflint.training.around import deciding_test
from perflint.training.steps import Point, Step, points_of


def is_shown_at_each_step(point: Point, statement: Statement) -> bool:
    """Whether a log statement of the same file runs at each step of the loop that a point belongs to."""
    shown = points_of(point.file).get(statement.node)
    if shown is None or not _are_of_one_loop(shown.step, point.step):
        return False
    return deciding_test(point.file.project, shown) is None


def is_made_now_and_then(point: Point, statement: Statement) -> bool:
    """Whether a statement runs only at every n-th step, because of a test that is not around a point as well."""
    made, project = points_of(point.file).get(statement.node), point.file.project
    found = deciding_test(project, made) if made is not None else None
    if found is None or found.interval is None:
        return False
    own = deciding_test(project, point)
    return own is None or own.test is not found.test


def holder(node: ast.AST) -> tuple[str, ast.expr | None] | None:
    """What a call or a statement puts a value into, and under which key: ``losses`` for ``losses.update(x)``."""
    target: ast.AST | None = None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        target = node.func.value
    elif isinstance(node, ast.Assign):
        target = next((item for item in node.targets if isinstance(item, (ast.Attribute, ast.Subscript))), None)
    if not isinstance(target, ast.expr):
        return None
    name = dotted(base_of(target))
    return (name, target.slice if isinstance(target, ast.Subscript) else None) if name is not None else None


def calls_for(point: Point) -> Iterator[tuple[Point, ast.Call]]:
    """The call through which the step reaches the function of a point, with the facts there."""
    step = point.step
    if step is None or not step.via:
        return
    path, row = step.via[-1]
    file = point.file.project.files[path]
    for scope, statement in statements_calling(file.scopes, row):
        here = points_of(file).get(statement.node)
        calls = [call for call in statement.calls if terminal(call) == point.scope.name] or statement.calls
        if here is not None and here.step is not None and scope is here.scope and len(calls) == 1:
            yield here, calls[0]


def _are_of_one_loop(first: Step | None, second: Step | None) -> bool:
    if first is None or second is None:
        return False
    return (first.path, first.line, first.function) == (second.path, second.line, second.function)
