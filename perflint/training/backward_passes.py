"""Finds which part of a step a place is in: how many backward passes precede it in the step.

A read makes the host wait for all work queued on the device since the last one. A backward pass is most of that work.
"""

from __future__ import annotations

from perflint.index.project import FileIndex, Project
from perflint.query import query
from perflint.syntax.scopes import Scope, Statement
from perflint.training.around import step_loop
from perflint.training.steps import Point, Step
from perflint.training.training_calls import TrainingCalls
from perflint.training.ways import way_to


def passes_before(project: Project, point: Point, step: Step) -> int:
    """How many statements with a backward pass, or with a call that leads to one, precede a statement in a step."""
    count = 0
    for file, scope, statement in way_to(project, point, step):
        last = step_loop(statement, file.path, step.path, step.line)
        count += sum(
            other.start < statement.start and (last is None or other.is_in(last))
            for other in _training_statements(file, scope)
        )
    return count


@query
def _training_statements(file: FileIndex, scope: Scope) -> tuple[Statement, ...]:
    """The statements of a function with a backward pass, or with a call that leads to one."""
    trains = TrainingCalls.of(file.project).call_trains
    return tuple(each for each in scope.statements if any(trains(file, scope, call) for call in each.calls))
