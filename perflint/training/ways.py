"""The path from a step loop to a statement: the statement itself, and the calls that lead to it."""

from __future__ import annotations

from collections.abc import Iterator

from perflint.index.project import FileIndex, Project
from perflint.syntax.scopes import Scope, Statement, statements_calling
from perflint.training.steps import Point, Step


def way_to(project: Project, point: Point, step: Step) -> Iterator[tuple[FileIndex, Scope, Statement]]:
    """The statement and the calls that lead to it, the nearest first; of several calls on one row, only the first."""
    yield point.file, point.scope, point.statement
    for path, line in reversed(step.via):
        file = project.files[path]
        found = next(statements_calling(file.scopes, line), None)
        if found is not None:
            yield file, *found
