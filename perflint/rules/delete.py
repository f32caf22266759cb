"""The fix that deletes a statement: its comments stay, and no block is left empty."""

from __future__ import annotations

import ast
from collections.abc import Callable

from perflint.findings import Edit
from perflint.lint.context import Context
from perflint.rules.edits import block_of, call_in, has_own_rows
from perflint.text.source import Source
from perflint.training.evidence import EVIDENCE, STEPS

Deletable = Callable[[ast.stmt], bool]


def deletion(context: Context, deletable: Deletable) -> list[Edit] | None:
    """The edits that delete the current statement; None if the statement is more than the current node.

    Also None if a call on the same row may get a guard.

    Args:
        deletable: whether a statement may be deleted together with this one. If all statements of a block may, the last
            of them becomes ``pass``.
    """
    point, source = context.here, context.file.source
    statement = point.statement.node
    if call_in(statement) is not context.node:
        return None
    start, end = source.lines.span(statement)
    if "#" in source.text[start:end]:
        return None
    block = block_of(point.statement, point.scope)
    is_needed = block[-1] is statement and all(other is statement or deletable(other) for other in block)
    row = [other for other in block if _share_rows(other, statement)]
    if len(row) == 1 and has_own_rows(statement, source):
        return [Edit(start, end, "pass")] if is_needed else [whole_rows(start, end, source)]
    is_suite = bool(source.text[source.lines.line_start(block[0].lineno) : source.lines.span(block[0])[0]].strip())
    others = (other for other in row if other is not statement)
    if not is_suite and any(_may_get_a_guard(other) and not deletable(other) for other in others):
        return None  # when it is alone on its row: that would be a second change of the same row
    at = row.index(statement)
    if is_needed:
        return [Edit(start, end, "pass")]
    if at + 1 < len(row):
        return [Edit(start, source.lines.span(row[at + 1])[0], "")]
    return [Edit(source.lines.span(row[at - 1])[1], end, "")]


def _share_rows(one: ast.stmt, other: ast.stmt) -> bool:
    return one.lineno <= (other.end_lineno or other.lineno) and other.lineno <= (one.end_lineno or one.lineno)


def _may_get_a_guard(statement: ast.stmt) -> bool:
    """Whether a statement is only a call that may log, save or measure, and not part of a training step."""
    call = call_in(statement)
    name = call.func.attr if call is not None and isinstance(call.func, ast.Attribute) else ""
    return call is not None and name not in STEPS | EVIDENCE


def whole_rows(start: int, end: int, source: Source) -> Edit:
    """Delete the rows of a statement, and one of two blank rows that would become adjacent; a comment keeps its row."""
    lines = source.lines
    first, last = lines.position(start)[0], lines.position(end)[0]
    comment = source.text.find("#", end, lines.line_end(last))
    if comment >= 0:
        return Edit(start, comment, "")
    above = lines.line(first - 1).strip()  # there is always one: code that runs at each step is in a block
    if (not above or above.endswith(":")) and last < lines.rows and not lines.line(last + 1).strip():
        last += 1
    return Edit(lines.line_start(first), lines.line_end(last), "")
