"""Which loops inside a step repeat what runs there, on any call that leads to it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from perflint.index.project import Project
from perflint.syntax.scopes import Scope, Statement, own_parts
from perflint.syntax.tree import children, walk
from perflint.training.around import step_loop
from perflint.training.guards import COMPREHENSIONS
from perflint.training.passes import chosen_by_filters, repeating_loops
from perflint.training.steps import Point, Step
from perflint.training.ways import way_to

Repeat = tuple[str, ast.stmt | ast.expr]
"""The path of a file, and a loop or a comprehension in it."""


def repeat_of(project: Project, point: Point, step: Step, node: ast.expr | None = None) -> Repeat | None:
    """The innermost loop inside the step around an expression of a statement, or around a call that leads there.

    ``for batch in loader: for loss in losses: loss.item()`` reads several times in each step.
    """
    around = _comprehensions(point.scope).get(node) if node is not None else None
    if around is not None:
        return point.file.path, around
    for file, _, statement in way_to(project, point, step):
        last = step_loop(statement, file.path, step.path, step.line)
        innermost = next(repeating_loops(statement.place), None)
        if innermost is not None and innermost is not last:
            return file.path, innermost
    return None


def is_at_each_pass(project: Project, point: Point, step: Step, repeat: Repeat) -> bool:
    """Whether no ``if`` stands between a statement, or the calls that lead to it, and a loop that repeats it."""
    for _, _, statement in way_to(project, point, step):
        if any(item is repeat[1] for part in own_parts(statement.node) for item in walk(part)):
            return True
        for link in statement.around:
            if link.node is repeat[1]:
                return True
            if isinstance(link.node, ast.If):
                return False
    return False


def _comprehensions(scope: Scope) -> dict[ast.AST, ast.expr]:
    """What a function works out at each pass of a comprehension, with the innermost one of those."""
    return scope.once("comprehensions", lambda: dict(pair for item in scope.statements for pair in _repeated_in(item)))


def _repeated_in(statement: Statement) -> Iterator[tuple[ast.AST, ast.expr]]:
    once: dict[ast.AST, ast.expr | None] = {}
    waiting: list[tuple[ast.AST, ast.expr | None]] = [(part, None) for part in own_parts(statement.node)]
    while waiting:
        item, around = waiting.pop()
        around = once.get(item, around)
        if around is not None:
            yield item, around
        if isinstance(item, COMPREHENSIONS):
            once[item.generators[0].iter] = around
            around = around if any(map(chosen_by_filters, item.generators)) else item
        waiting += [(child, around) for child in children(item)]
