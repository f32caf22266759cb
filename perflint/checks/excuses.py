"""Finds signs that a costly value or call is there on purpose: a comment, a test around it, a clock next to it."""

from __future__ import annotations

import ast
import re

import libcst as cst

from perflint.facts import programs
from perflint.index.project import FileIndex
from perflint.lint.context import Context
from perflint.syntax.decisions import is_for_another_program
from perflint.syntax.names import dotted
from perflint.syntax.vocabulary import tests_itself


def explained(node: cst.CSTNode, pattern: str, context: Context) -> bool:
    """Whether a comment at the end of a node's row, or alone on the rows just above it, matches a pattern.

    The rows above count if the node begins its row: a comment above a call is not about each of its arguments.
    """
    if not pattern:
        return False
    source = context.file.source
    start, end = context.range(node)
    first, last = context.rows(node)
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
    tests = [link.node.test for link in context.here.statement.around if isinstance(link.node, ast.If)]
    return any(re.search(pattern, ast.unparse(test), re.IGNORECASE) for test in tests)


def beside(calls: tuple[str, ...], context: Context) -> bool:
    """Whether the statement before or after the current one contains one of these calls (qualified names)."""
    if not calls:
        return False
    statement = context.here.statement
    siblings = [other for other in context.here.scope.statements if other.place is statement.place]
    at = siblings.index(statement)
    near = siblings[max(at - 1, 0) : at] + siblings[at + 1 : at + 2]
    names = {context.file.names.resolve(dotted(call.func) or "") for other in near for call in other.calls}
    return not names.isdisjoint(calls)


def called(calls: tuple[str, ...], context: Context) -> bool:
    """Whether the file contains one of these calls (qualified names) anywhere."""
    return bool(calls) and called_in(calls, context.file)


def called_in(calls: tuple[str, ...], file: FileIndex) -> bool:
    """Whether a file contains one of these calls (qualified names)."""
    resolve = file.names.resolve
    found = (call for name in calls for _, _, call in file.calls_named(name.rpartition(".")[2]))
    return any(resolve(dotted(call.func) or "") in calls for call in found)


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
    return not programs.is_always_reached(point.file, point.scope, point.statement)


def goes_nowhere(context: Context) -> bool:
    """Whether the current statement is for a trial of the code, never runs, or binds a name that is never read."""
    point = context.point
    if point is None:
        return False
    if tests_itself(point.scope.name) or is_for_another_program(point.statement, point.file.parts[-1]):
        return True
    node = point.statement.node
    if not isinstance(node, ast.Assign) or len(node.targets) != 1 or not isinstance(node.targets[0], ast.Name):
        return False
    if isinstance(point.scope.node, ast.Module):
        return False  # another file may read it
    return not any(isinstance(read.node, ast.Name) for read in point.file.loads.get(node.targets[0].id, ()))
