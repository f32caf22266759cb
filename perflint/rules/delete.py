"""The fix that deletes a statement: its comments stay, and no block is left empty."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import libcst as cst

from perflint.findings import Edit
from perflint.lint.context import Context, method_of
from perflint.text.source import Source
from perflint.training.evidence import EVIDENCE, STEPS

Deletable = Callable[["cst.BaseSmallStatement"], bool]


def deletion(context: Context, deletable: Deletable) -> list[Edit] | None:
    """The edits that delete the current statement; None if the statement is more than the current node.

    Also None if a call on the same row may get a guard.

    Args:
        deletable: whether a statement may be deleted together with this one. If all statements of a block may, the last
            of them becomes ``pass``.
    """
    statement, node = context.statement, context.node
    if not isinstance(statement, cst.Expr) or statement.value is not node:
        return None
    start, end = context.range(statement)
    source = context.file.source
    if "#" in source.text[start:end]:
        return None
    parents = [parent for parent in context.parents if parent is not statement]
    line, block = parents[-1], parents[-2]
    if isinstance(line, cst.SimpleStatementSuite):  # ``if x: call()``
        return _in_row(line.body, statement, _is_last_of(line.body, statement, deletable), context)
    assert isinstance(line, cst.SimpleStatementLine)
    if len(line.body) > 1:
        if any(_may_get_a_guard(other) and not deletable(other) for other in line.body if other is not statement):
            return None  # when it is alone on its row: that would be a second change of the same row
        return _in_row(line.body, statement, _would_be_empty(block, statement, deletable), context)
    if _would_be_empty(block, statement, deletable):
        return [Edit(start, end, "pass")]
    return [whole_rows(start, end, source)]


def _may_get_a_guard(statement: cst.BaseSmallStatement) -> bool:
    """Whether a statement is only a call that may log, save or measure, and not part of a training step."""
    call = statement.value if isinstance(statement, cst.Expr) else None
    return isinstance(call, cst.Call) and method_of(call) not in STEPS | EVIDENCE


def _would_be_empty(block: cst.CSTNode, statement: cst.Expr, deletable: Deletable) -> bool:
    """Whether a block contains nothing else, or only earlier statements that are deleted too."""
    if not isinstance(block, cst.IndentedBlock):
        return False
    found: list[cst.BaseSmallStatement] = []
    for line in block.body:
        if not isinstance(line, cst.SimpleStatementLine):
            return False
        found += line.body
    return _is_last_of(found, statement, deletable)


def _is_last_of(found: Sequence[cst.BaseSmallStatement], statement: cst.Expr, deletable: Deletable) -> bool:
    """Whether a statement is the last of some that are all deleted."""
    return found[-1] is statement and all(other is statement or deletable(other) for other in found)


def _in_row(
    row: Sequence[cst.BaseSmallStatement], statement: cst.Expr, is_needed: bool, context: Context
) -> list[Edit]:
    """Delete a statement of a row with a semicolon; ``is_needed``: the block needs something in its place."""
    at = next(index for index, other in enumerate(row) if other is statement)
    start, end = context.range(statement)
    if is_needed:
        return [Edit(start, end, "pass")]
    if at + 1 < len(row):
        return [Edit(start, context.range(row[at + 1])[0], "")]
    return [Edit(context.range(row[at - 1])[1], end, "")]


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
