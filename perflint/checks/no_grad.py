"""PPF601: an evaluation loop that keeps the graph for a backward pass that never happens."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import libcst as cst

from perflint.checks.edits import indent_rows, indentation, one_level, rows_inside_strings
from perflint.checks.spelled import Spelling, spelling
from perflint.dataflow.flow import is_generator
from perflint.facts.evaluation_loops import Evaluation, confirmed, evaluations
from perflint.findings import Confidence, Edit, Fix, Level
from perflint.index.project import FileIndex
from perflint.lint.context import Context, shorten
from perflint.lint.registry import check, statement_gate
from perflint.syntax.names import dotted
from perflint.syntax.scopes import Statement

CODE = "PPF601"
# Decorators that work with another one below them.
_EASY = frozenset({"staticmethod", "classmethod", "property", "abstractmethod", "abc.abstractmethod", "override"})
_GENERATOR = "a generator would switch gradients off for the code that runs between its yields, too"
_IN_FLUID = "fluid.dygraph.no_grad"
_OLD_PADDLE = "that is its name in Paddle 1.7 to 2.4"
_NAME_TAKEN = "`paddle` is another name in this file"


@statement_gate(CODE)
def _evaluating(file: FileIndex) -> Iterator[tuple[Statement, Confidence]]:
    candidates = evaluations(file) if file.has_words("for") else {}
    for scope in file.scopes.scopes if candidates else ():
        for statement in scope.statements:
            found = candidates.get(statement.node)
            if found is not None:
                yield statement, found.confidence


@check("For")
def evaluation_with_gradients(loop: cst.For, context: Context) -> None:
    """Report the header of an evaluation loop that runs with gradients on."""
    candidate = evaluations(context.file).get(context.here.statement.node) if context.point is not None else None
    found = confirmed(context.file, candidate) if candidate is not None else None
    if found is None:
        return
    fix = _fix(loop, found, context)
    what = shorten(ast.unparse(found.call))
    guard = _IN_FLUID if found.is_fluid else "paddle.no_grad()"
    context.report(CODE, loop.iter, fix, confidence=found.confidence, claims=False, what=what, guard=guard)


def _fix(loop: cst.For, found: Evaluation, context: Context) -> Fix:
    level, reason = (Level.UNSAFE, found.risk) if found.risk else (Level.SAFE, "")
    if found.is_fluid and not reason:
        level, reason = Level.UNSAFE, _OLD_PADDLE
    if is_generator(found.scope):
        level, reason = Level.DISPLAY, _GENERATOR
    decorated = _decorated(found, context.file)
    spelled = decorated or _spelling(found, found.loop, context.file)
    if spelled is None:
        spelled, level, reason = Spelling("paddle.no_grad"), Level.DISPLAY, _NAME_TAKEN
    if decorated is not None:
        row = found.scope.row
        start = context.file.source.lines.line_start(row)
        # without parentheses, every version of fluid accepts it
        decorator = f"@{decorated.name}" if found.is_fluid else f"@{decorated.name}()"
        text = f"{indentation(context.file.source, row)}{decorator}{context.file.source.newline}"
        return Fix(
            f"put `{decorator}` above the function", (Edit(start, start, text),), level, reason, decorated.imports
        )
    title, edits = f"put the loop under `with {spelled.name}():`", tuple(_wrap(loop, found, spelled, context))
    return spelled.trusted(Fix(title, edits, level, reason, spelled.imports))


def _decorated(found: Evaluation, file: FileIndex) -> Spelling | None:
    """How ``no_grad`` is written above the function, if a decorator is as good as a ``with``, and cannot fail there.

    A decorator is evaluated when the module is imported, maybe without Paddle.
    """
    node = found.scope.node
    if not found.whole or not isinstance(node, ast.FunctionDef):
        return None
    if not _EASY.issuperset(map(dotted, node.decorator_list)):
        return None
    spelled = _spelling(found, node, file)
    return spelled if spelled is not None and not spelled.doubt else None


def _wrap(loop: cst.For, found: Evaluation, spelled: Spelling, context: Context) -> list[Edit]:
    source, first, last = context.file.source, found.loop.lineno, _last_row(found, context)
    unit = one_level(indentation(source, found.loop.body[0].lineno), indentation(source, first))
    above = f"{spelled.row}{source.newline}{indentation(source, first)}" if spelled.row else ""
    header = f"{above}with {spelled.name}():"
    return indent_rows(source, first, last, unit, header, rows_inside_strings([loop], context))


def _last_row(found: Evaluation, context: Context) -> int:
    """The last row of a loop, with the comments below its last statement at the same indentation."""
    source, row = context.file.source, found.loop.end_lineno or found.loop.lineno
    depth = len(indentation(source, found.loop.lineno))
    following = row + 1
    while following <= source.lines.rows:
        line = source.lines.line(following)
        if line.strip() and not (line.lstrip().startswith("#") and len(indentation(source, following)) > depth):
            break
        row = following if line.strip() else row
        following += 1
    return row


def _spelling(found: Evaluation, node: ast.stmt, file: FileIndex) -> Spelling | None:
    """How ``no_grad`` is written above a loop, or above a function; None if the name is taken."""
    target, root = (f"paddle.{_IN_FLUID}", "paddle.fluid") if found.is_fluid else ("paddle.no_grad", "paddle")
    is_loop = node is found.loop
    return spelling(target, node, file, root, is_run=is_loop, allows_row=is_loop)
