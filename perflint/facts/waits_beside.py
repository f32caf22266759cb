"""Where else a forward pass waits for the device than at one of its statements.

``score = score * paddle.to_tensor(2.0)`` copies a constant and waits for the device to do so.  Where a loop of the same
forward pass asks ``if (row > 0).any():`` of each row, the device has little to do whenever the constant is copied.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from perflint.dataflow.evaluate import Evaluator
from perflint.facts.host_need import needed_for
from perflint.facts.unknown_size import dynamic_op
from perflint.index.project import FileIndex
from perflint.syntax.decisions import candidates
from perflint.syntax.scopes import Scope, Statement, own_parts
from perflint.syntax.tree import walk
from perflint.training.reads import Reads, reads_tensor
from perflint.training.steps import Point, Step, of_point, points_of
from perflint.training.ways import way_to


@of_point
def wait_beside(point: Point, step: Step) -> tuple[str, int] | None:
    """Path and row of another wait in the functions that lead from a forward pass to a statement of it.

    It is one that stays: the host needs what it reads, or a loop repeats it.  It runs whenever the statement does: no
    test stands around it that does not stand around the statement, or around the call that leads there, as well.  None
    where no such wait is seen.
    """
    for file, scope, statement in way_to(point.file.project, point, step):
        row = _first_wait(file, scope, statement)
        if row is not None:
            return file.path, row
    return None


def _first_wait(file: FileIndex, scope: Scope, statement: Statement) -> int | None:
    """The row of the first statement of a function with a wait that stays, and that runs whenever another one does."""
    known, around = points_of(file), {id(link.node) for link in statement.around}
    for other in scope.statements:
        point = known.get(other.node)
        if point is not None and _runs_with(other, around) and _has_lasting_wait(point):
            return file.row(other.node)
    return None


def _runs_with(other: Statement, around: set[int]) -> bool:
    """Whether no other test or ``except`` stands around a statement than those that are known to hold."""
    return all(id(link.node) in around or not isinstance(link.node, (ast.If, ast.Try)) for link in other.around)


@of_point
def _has_lasting_wait(point: Point) -> bool:
    is_repeated = point.statement.loop is not None
    return any(is_repeated or needed_for(point, node, forward=True) for node in _waits(point))


def _waits(point: Point) -> Iterator[ast.expr]:
    """The expressions of a statement that read a tensor, decide on one, or need to learn a size."""
    evaluator = Evaluator(point.file, point.full_env)
    for item, asked in candidates(point.statement.node):
        if asked and evaluator.kind(item).is_tensor:
            yield item
    for call in point.statement.calls:
        if reads_tensor(call, evaluator, point.file) or _in_helper(point, call):
            yield call
    for part in (part for own in own_parts(point.statement.node) for part in walk(own)):
        is_value = isinstance(part, ast.Call) or (isinstance(part, ast.Subscript) and isinstance(part.ctx, ast.Load))
        if isinstance(part, ast.expr) and is_value and dynamic_op(point, part) is not None:
            yield part


def _in_helper(point: Point, call: ast.Call) -> bool:
    return Reads.of(point.file.project).in_call(point.file, point.scope, call, point.full_env) is not None
