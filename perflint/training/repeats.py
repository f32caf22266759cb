"""In which loop inside a step a statement runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from perflint.index.project import Project
from perflint.syntax.bindings import bindings_of
from perflint.syntax.names import dotted
from perflint.syntax.parameters import all_parameters, keyword_parameter
from perflint.syntax.reaching import is_mutated
from perflint.syntax.scopes import Loop, Scope, Statement, once, own_parts, terminal
from perflint.syntax.tree import children
from perflint.training.every import call_path, step_loop
from perflint.training.outcomes import COMPREHENSIONS, filters_select_one, repeating_loops
from perflint.training.steps import Point, Step

# Finds loops inside a step that repeat a place, in any of the calls that lead to it.

Repeat = tuple[str, ast.stmt | ast.expr]
"""The path of a file, and a loop or a comprehension in it."""


def repeat_of(project: Project, point: Point, step: Step, node: ast.expr | None = None) -> Repeat | None:
    """The innermost loop inside the step around an expression of a statement, or around a call that leads there.

    ``for batch in loader: for loss in losses: loss.item()`` reads several times in each step.
    """
    around = comprehensions(point.scope).get(node) if node is not None else None
    if around is not None:
        return point.file.path, around
    way = list(call_path(project, point, step))
    callers = [*(statement for _, statement in way[1:]), None]
    for (at, statement), caller in zip(way, callers, strict=True):
        last = step_loop(statement, at.file.path, step)
        loops = repeating_loops(statement.place)
        innermost = next((loop for loop in loops if not _takes_one_keyword(loop, at.scope, caller)), None)
        if innermost is not None and innermost is not last:
            return at.file.path, innermost
    return None


def _takes_one_keyword(loop: Loop, scope: Scope, caller: Statement | None) -> bool:
    """Whether a loop iterates over the ``**kwargs`` of a function whose call passes one value, besides constants.

    ``for name, value in kwargs.items():`` of ``meters.update(loss=loss)``.
    """
    name = keyword_parameter(scope)
    over = loop.iter.func if isinstance(loop, ast.For) and isinstance(loop.iter, ast.Call) else None
    if name is None or caller is None or not isinstance(over, ast.Attribute) or dotted(over.value) != name:
        return False
    if over.attr not in ("items", "values") or name in bindings_of(scope) or is_mutated(name, scope.node):
        return False
    parameters = all_parameters(scope)
    calls = [call for call in caller.calls if terminal(call) == scope.name]
    others = ([item for item in call.keywords if item.arg not in parameters] for call in calls)
    return bool(calls) and all(_is_one(keywords) for keywords in others)


def _is_one(keywords: list[ast.keyword]) -> bool:
    """Whether keyword arguments contain exactly one value that is not a literal, and no ``**others``."""
    values = [keyword.value for keyword in keywords if not isinstance(keyword.value, ast.Constant)]
    return len(values) <= 1 and all(keyword.arg is not None for keyword in keywords)


@once
def comprehensions(scope: Scope) -> dict[ast.AST, ast.expr]:
    """The expressions that comprehensions of a function evaluate in each iteration, with the innermost one."""
    return dict(pair for item in scope.statements for pair in _repeated_in(item))


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
            around = around if any(map(filters_select_one, item.generators)) else item
        waiting += [(child, around) for child in children(item)]
