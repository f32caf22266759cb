"""Where a forward pass waits again and again for the device, beside one of its statements.

``score = score * paddle.to_tensor(2.0)`` copies a constant and waits for the device to do so.  Where a loop of the same
forward pass asks ``if (row > 0).any():`` of each row, the device has little to do whenever the constant is copied.
"""

from __future__ import annotations

import ast

from perflint.dataflow.evaluate import Evaluator
from perflint.index.project import FileIndex
from perflint.syntax.decisions import candidates
from perflint.syntax.scopes import Scope, Statement
from perflint.training.reads import Reads, reads_tensor
from perflint.training.steps import Point, Step, of_point, points_of
from perflint.training.ways import way_to


@of_point
def wait_beside(point: Point, step: Step) -> tuple[str, int] | None:
    """Path and row of another wait, in a loop, in the functions that lead from a forward pass to a statement of it.

    It runs whenever the statement does: no test stands around it that does not stand around the statement, or around
    the call that leads there, as well.  None where no such wait is seen.
    """
    for file, scope, statement in way_to(point.file.project, point, step):
        row = _first_wait(file, scope, statement, within=statement is not point.statement)
        if row is not None:
            return file.path, row
    return None


def _first_wait(file: FileIndex, scope: Scope, statement: Statement, within: bool) -> int | None:
    """The row of the first statement of a function that waits in a loop, and that runs whenever another one does.

    ``within``: whether the other one counts itself, as one that only leads to the wait in question.
    """
    known, around = points_of(file), {id(link.node) for link in statement.around}
    for other in scope.statements:
        point = known.get(other.node) if within or other is not statement else None
        if point is not None and _runs_with(other, around) and _waits_again(point):
            return file.row(other.node)
    return None


def _runs_with(other: Statement, around: set[int]) -> bool:
    """Whether no other test or ``except`` stands around a statement than those that are known to hold."""
    return all(id(link.node) in around or not isinstance(link.node, (ast.If, ast.Try)) for link in other.around)


@of_point
def _waits_again(point: Point) -> bool:
    """Whether a statement in a loop reads a tensor, or decides on one."""
    if point.statement.loop is None:
        return False
    evaluator = Evaluator(point.file, point.full_env)
    if any(asked and evaluator.kind(item).is_tensor for item, asked in candidates(point.statement.node)):
        return True
    return any(reads_tensor(call, evaluator, point.file) or _in_helper(point, call) for call in point.statement.calls)


def _in_helper(point: Point, call: ast.Call) -> bool:
    return Reads.of(point.file.project).in_call(point.file, point.scope, call, point.full_env) is not None
