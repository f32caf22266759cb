"""Signs that a costly call is there on purpose, or that no training step runs it."""

from __future__ import annotations

import ast
import re

from perflint.facts import programs
from perflint.index.project import FileIndex
from perflint.lint.context import Context
from perflint.syntax import vocabulary
from perflint.syntax.bindings import bindings_of, plain_assignment
from perflint.syntax.names import dotted
from perflint.syntax.parameters import is_none
from perflint.syntax.scopes import is_for_another_program, terminal
from perflint.syntax.vocabulary import tests_itself
from perflint.training.steps import Point

# Finds signs that a costly value or call is there on purpose: a comment, a test around it, a clock next to it.


def explained(node: ast.AST, pattern: str, context: Context) -> bool:
    """Whether a comment at the end of a node's row, or alone on the rows just above it, matches a pattern.

    The rows above count if the node begins its row: a comment above a call is not about each of its arguments.
    """
    return bool(pattern) and explained_at(context.range(node), pattern, context)


def explained_at(place: tuple[int, int], pattern: str, context: Context) -> bool:
    """The same for a place given by its offsets."""
    if not pattern:
        return False
    source, (start, end) = context.file.source, place
    first, last = source.lines.position(start)[0], source.lines.position(end)[0]
    comments = [source.text[end : source.lines.line_end(last)].partition("#")[2]]
    if not source.text[source.lines.line_start(first) : start].strip():
        row = first - 1
        while row >= 1 and source.lines.line(row).lstrip().startswith("#"):
            comments.append(source.lines.line(row))
            row -= 1
    return any(re.search(pattern, comment, re.IGNORECASE) for comment in comments)


def tested(pattern: str, context: Context) -> bool:
    """Whether the test of an ``if`` around the current statement matches a pattern."""
    if not pattern or context.point is None:
        return False
    tests = context.here.statement.conditions
    return any(re.search(pattern, ast.unparse(test), re.IGNORECASE) for test, _ in tests)


def beside(calls: tuple[str, ...], context: Context) -> bool:
    """Whether the statement before or after the current one contains one of these calls (qualified names)."""
    if not calls:
        return False
    statement = context.here.statement
    siblings = [other for other in context.here.scope.statements if other.place is statement.place]
    at = siblings.index(statement)
    near = siblings[max(at - 1, 0) : at] + siblings[at + 1 : at + 2]
    names = {context.file.names.qualified(call.func) for other in near for call in other.calls}
    return not names.isdisjoint(calls)


def called(calls: tuple[str, ...], context: Context) -> bool:
    """Whether the file contains one of these calls (qualified names) anywhere."""
    return bool(calls) and called_in(calls, context.file)


def called_in(calls: tuple[str, ...], file: FileIndex) -> bool:
    """Whether a file contains one of these calls (qualified names)."""
    found = (call for name in calls for _, _, call in file.calls_named(name.rpartition(".")[2]))
    return any(file.names.qualified(call.func) in calls for call in found)


def in_inner_loop(context: Context) -> bool:
    """Whether the current statement is in a loop inside the step, such as one that retries."""
    loop, step = context.here.statement.loop, context.step
    return loop is not None and step is not None and (step.path, step.line) != (context.file.path, loop.lineno)


def is_asked_for(pattern: str, context: Context) -> bool:
    """Whether a statement is not part of every training: an option decides on it, or no program that loads it trains.

    The names of its function and of its file show that if they match ``pattern``.
    """
    point = context.point
    if point is None or not programs.trains(point.file):
        return True
    names = (point.scope.name, point.file.parts[-1])
    if pattern and any(re.search(pattern, name, re.IGNORECASE) for name in names):
        return True
    return not programs.is_always_reached(point.function, point.statement)


def goes_nowhere(context: Context) -> bool:
    """Whether the current statement is for a trial of the code, never runs, or binds a name that is never read."""
    point = context.point
    if point is None:
        return False
    if tests_itself(point.scope.name) or is_for_another_program(point.statement, point.file.parts[-1]):
        return True
    made = plain_assignment(point.statement.node)
    if made is None or isinstance(point.scope.node, ast.Module):
        return False  # another file may read the name of a module
    return not any(isinstance(read.node, ast.Name) for read in point.file.loads.get(made[0], ()))


# Recognizes parts of a forward pass that no training step runs, or that run once: decoding, metrics, cached values.

_NO_TRAINING = (vocabulary.is_no_training, vocabulary.decodes, vocabulary.is_trial)
_OTHER_RUNS = (vocabulary.evaluates, vocabulary.predicts, vocabulary.decodes, vocabulary.exports)


def is_untrained(point: Point, function: str) -> bool:
    """Whether a statement of a forward pass (``function``: ``Net.forward``) does not run at each training step.

    Names say it, unless a loop that trains certainly leads there: a ``CaptionModel`` is trained as well.
    """
    if not is_trained(point) and _has_a_name_of_other_runs(point, function):
        return True
    return any(map(vocabulary.is_metric_code, point.file.parts)) or any(
        any(asks(_asked(test)) for asks in _OTHER_RUNS) or _is_first_time(test, point) for test in point.statement.tests
    )


def is_trained(point: Point) -> bool:
    """Whether a loop that trains certainly leads to a statement of a forward pass."""
    return point.step is not None and point.step.sure and point.step.led_from is not None


def _has_a_name_of_other_runs(point: Point, function: str) -> bool:
    """Whether names say that a statement evaluates, decodes, or belongs to a trial or a metric."""
    owner = point.scope.owner.name if point.scope.owner is not None else ""
    names = [vocabulary.snake(name) for name in (point.scope.name, owner, function.rpartition(".")[0])]
    if any(says(name) for name in names for says in _NO_TRAINING):
        return True
    return any(vocabulary.means_metric(name.rpartition("_")[2]) for name in names[1:])


def _asked(test: ast.expr) -> str:
    """The flag that a branch tests, ``""`` if it tests something else or the opposite."""
    name = dotted(test.func) if isinstance(test, ast.Call) else dotted(test)
    return (name or "").rpartition(".")[2]


def _is_first_time(test: ast.expr, point: Point) -> bool:
    """Whether a test is about a cached value: ``self.grid is None``, ``not hasattr(self, "grid")``."""
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Is):
        if not is_none(test.comparators[0]):
            return False
        name = dotted(test.left) or ""
        return name.startswith("self.") or _is_looked_up(name, point)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        asked = test.operand.func if isinstance(test.operand, ast.Call) else test.operand
        name = dotted(asked) or ""
        return name == "hasattr" or name.startswith("self.init")
    return False


def _is_looked_up(name: str, point: Point) -> bool:
    """Whether a name is bound to an entry of a table that may be missing: ``grid = grids.get(size)``."""
    nodes = (statement.node for statement in bindings_of(point.scope).get(name, ()))
    values = [node.value for node in nodes if isinstance(node, ast.Assign)]
    return any(isinstance(value, ast.Call) and terminal(value) == "get" for value in values)
