"""In which part of a step a place stands: how many backward passes the step has made before it.

A read makes the host wait for all that the device was given since the last one.  A backward pass is most of that.
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
    """How many statements of a step make a backward pass, or call what makes one, before it comes to a statement."""
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
    """The statements of a function that make a backward pass, or call what does."""
    trains = TrainingCalls.of(file.project).call_trains
    return tuple(each for each in scope.statements if any(trains(file, scope, call) for call in each.calls))
