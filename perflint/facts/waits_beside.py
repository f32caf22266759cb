"""Finds where a forward pass waits for the device anyway, besides at one of its statements.

``score = score * paddle.to_tensor(2.0)`` copies a constant and waits for the device to do so. If the same forward pass
tests ``if (score > 0).any():``, or selects ``score[mask]``, fixing the copy gains little.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from perflint.dataflow.evaluate import Evaluator
from perflint.facts.host_shapes import is_in_host_memory
from perflint.facts.host_sizes import sizes_in
from perflint.facts.unknown_size import dynamic_op
from perflint.index.kinds import Kind
from perflint.index.project import FileIndex
from perflint.syntax.decisions import candidates
from perflint.syntax.scopes import Scope, Statement, headers
from perflint.syntax.tree import walk
from perflint.training.reads import Reads, reads_tensor
from perflint.training.steps import Point, Step, of_point, points_of
from perflint.training.ways import way_to


@of_point
def wait_beside(point: Point, step: Step) -> tuple[str, int] | None:
    """Path and row of another wait, in the functions that lead from a forward pass to a statement of it.

    It runs whenever the statement does: all tests around it are also around the statement, or around the call that
    leads there. None if no such wait is known.
    """
    return _first_on_the_way(point, step, _waits)


@of_point
def repeated_wait_beside(point: Point, step: Step) -> tuple[str, int] | None:
    """The same for a wait in each iteration of a loop, which is not an operation of unknown size."""
    return _first_on_the_way(point, step, _waits_again)


def _first_on_the_way(point: Point, step: Step, waits: Callable[[Point], bool]) -> tuple[str, int] | None:
    for file, scope, statement in way_to(point.file.project, point, step):
        row = _first_wait(file, scope, statement, waits, within=statement is not point.statement)
        if row is not None:
            return file.path, row
    return None


def _first_wait(
    file: FileIndex, scope: Scope, statement: Statement, waits: Callable[[Point], bool], within: bool
) -> int | None:
    """The row of the first statement of a function that waits, and that runs whenever another one does.

    ``within``: whether the other one itself counts, because it only leads to the wait in question.
    """
    known, around = points_of(file), {id(link.node) for link in statement.around}
    for other in scope.statements:
        point = known.get(other.node) if within or other is not statement else None
        if point is not None and _runs_with(other, around) and waits(point):
            return file.row(other.node)
    return None


def _runs_with(other: Statement, around: set[int]) -> bool:
    """Whether only tests that are known to be true, and no ``except``, are around a statement."""
    return all(id(link.node) in around or not isinstance(link.node, (ast.If, ast.Try)) for link in other.around)


@of_point
def _waits(point: Point) -> bool:
    """Whether a statement reads a tensor, decides on one, or needs one for the size of another."""
    if _reads_or_decides(point):
        return True
    evaluator = Evaluator(point.file, point.full_env)
    headers_of = headers(point.statement.node)
    return any(_has_unknown_size(part, point, evaluator) for header in headers_of for part in walk(header))


@of_point
def _waits_again(point: Point) -> bool:
    """Whether a statement in a loop reads a tensor, or decides on one."""
    return point.statement.loop is not None and _reads_or_decides(point)


@of_point
def _reads_or_decides(point: Point) -> bool:
    evaluator = Evaluator(point.file, point.full_env)
    if any(asked and _is_asked(item, evaluator.kind(item)) for item, asked in candidates(point.statement.node)):
        return True
    return any(reads_tensor(call, evaluator, point.file) or _in_helper(point, call) for call in point.statement.calls)


def _is_asked(node: ast.expr, kind: Kind) -> bool:
    """Whether a tensor decides; an argument of a forward pass is usually a tensor, but alone in a test it is a flag."""
    return kind.is_tensor and not (kind.guess and isinstance(node, (ast.Name, ast.Attribute)))


def _has_unknown_size(node: ast.AST, point: Point, evaluator: Evaluator) -> bool:
    """Whether an expression's result has a size that only the device knows: ``x[mask]``, ``paddle.zeros([count])``."""
    if isinstance(node, (ast.Call, ast.Subscript)) and dynamic_op(point, node) is not None:
        return True
    sizes = (part for size in sizes_in(node, point.file.names) for part in _parts(size))
    return any(_is_on_the_device(part, point, evaluator) for part in sizes)


def _parts(size: ast.AST) -> list[ast.expr]:
    if isinstance(size, (ast.List, ast.Tuple)):
        return size.elts
    return [size] if isinstance(size, ast.expr) else []


def _is_on_the_device(size: ast.expr, point: Point, evaluator: Evaluator) -> bool:
    kind = evaluator.kind(size)
    return kind.is_tensor and not kind.guess and not is_in_host_memory(size, point)


def _in_helper(point: Point, call: ast.Call) -> bool:
    return Reads.of(point.file.project).in_call(point.file, point.scope, call, point.full_env) is not None
