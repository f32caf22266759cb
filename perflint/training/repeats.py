"""Which statements run several times in one step: those in a loop inside the step, on any call that leads there."""

from __future__ import annotations

from collections.abc import Iterable

from perflint.index.project import Project
from perflint.syntax.scopes import Statement, statements_calling
from perflint.training.around import step_loop
from perflint.training.passes import repeating_loops
from perflint.training.steps import Point, Step


def is_repeated(project: Project, point: Point, step: Step) -> bool:
    """Whether a statement, or a call that leads to it, stands in a loop inside the step.

    ``for batch in loader: for loss in losses: loss.item()`` reads several times in each step.
    """
    if _in_loop([point.statement], point.file.path, step):
        return True
    for path, line in step.via:
        statements = (statement for _, statement in statements_calling(project.files[path].scopes, line))
        if _in_loop(statements, path, step):
            return True
    return False


def _in_loop(statements: Iterable[Statement], path: str, step: Step) -> bool:
    """Whether a loop stands between one of the statements and the step loop, or the top of its function."""
    for statement in statements:
        last = step_loop(statement, path, step.path, step.line)
        innermost = next(repeating_loops(statement.place), None)
        if innermost is not None and innermost is not last:
            return True
    return False
