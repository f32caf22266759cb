"""Breaks rows that an edit makes too long, like black: inside the brackets of a call, or inside new parentheses.

For example, with rows of at most 60 characters::

    total += loss.detach().astype("float64") * images.shape[0]

becomes::

    total += (
        loss.detach().astype("float64") * images.shape[0]
    )

A row that was already too long is not changed, nor is one that cannot be broken in this way.
"""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence

from perflint.findings import Edit, in_order
from perflint.fix.fixer import spliced
from perflint.fix.parsed_text import Reading
from perflint.syntax.parameters import arguments_of
from perflint.syntax.scopes import last_row
from perflint.syntax.tree import walk
from perflint.text.source import LineTable, lines_of

_STEP = "    "
_BLACK = 88
"""Black's default line length, for projects that do not set one."""


def usual_limit(text: str) -> int:
    """The line length if the project does not set one: black's default, or that of the longest row."""
    return max(_BLACK, *map(_width, _rows(text)))


def fitted(text: str, edits: Sequence[Edit], limit: int, newline: str) -> list[Edit]:
    """Edits changed so that no row gets longer than ``limit``, unless it was that long before.

    Args:
        text: whole statements of a module before the edits, from the beginning of a row on.
        edits: sorted, not overlapping.
        limit: the greatest length of a row.
        newline: the line end of the file.
    """
    result = spliced(text, 0, len(text), edits)
    lines = LineTable(result)
    old = set(_rows(text))
    long = [row for row in range(1, lines.rows + 1) if _width(lines.line(row)) > limit and lines.line(row) not in old]
    tree = Reading(result).tree if long else None
    if tree is None:
        return list(edits)
    nodes = walk(tree)
    breaks: list[Edit] = []
    for row in long:
        breaks += _broken(result, lines, _statement(nodes, row), limit, newline)
    return composed(edits, breaks)


def composed(edits: Sequence[Edit], later: Sequence[Edit]) -> list[Edit]:
    """The edits with the same result as applying ``edits`` and then ``later``.

    Args:
        edits: sorted, not overlapping.
        later: edits of the result; each replaces spaces that ``edits`` have left unchanged or have written completely.
    """
    pieces = [*edits]
    starts, shifts, shift = [], [], 0  # where the content of each edit begins in the result, and the shift after it
    for edit in edits:
        starts.append(edit.start + shift)
        shift += len(edit.content) - (edit.end - edit.start)
        shifts.append(shift)
    for change in sorted(later, reverse=True):
        at = bisect_right(starts, change.start) - 1
        inside = at >= 0 and change.end <= starts[at] + len(edits[at].content)
        if inside:
            edit, offset = pieces[at], starts[at]
            low, high = change.start - offset, change.end - offset
            pieces[at] = Edit(edit.start, edit.end, edit.content[:low] + change.content + edit.content[high:])
        else:
            back = shifts[at] if at >= 0 else 0
            pieces.append(Edit(change.start - back, change.end - back, change.content))
    return list(in_order(pieces))


def _broken(text: str, lines: LineTable, statement: ast.stmt | None, limit: int, newline: str) -> list[Edit]:
    """The changes that break the row of a statement; none if that does not help."""
    if statement is None or last_row(statement) != statement.lineno:
        return []
    row = statement.lineno
    indent = lines.line(row)[: len(lines.line(row)) - len(lines.line(row).lstrip())]
    unit = "\t" if indent.startswith("\t") else _STEP
    for start, end, opens in _splits(lines, statement):
        inner, closing = f"{newline}{indent}{unit}", f"{newline}{indent}"
        changes = [Edit(start, start, opens[:1] + inner), Edit(end, end, closing + opens[1:])]
        first = lines.line_start(row)
        rows = _rows(spliced(text, first, first + len(lines.line(row)), changes))
        if all(_width(part) <= limit for part in rows):
            return changes
    return []


def _rows(text: str) -> list[str]:
    """The rows of a text without their line ends."""
    return [row.rstrip("\r\n") for row in lines_of(text) or [""]]


def _width(row: str) -> int:
    return len(row.expandtabs(len(_STEP))) if "\t" in row else len(row)


def _statement(nodes: Iterable[ast.AST], row: int) -> ast.stmt | None:
    """The statement that begins on a row; None if several do."""
    found = [node for node in nodes if isinstance(node, ast.stmt) and node.lineno == row]
    return found[0] if len(found) == 1 else None


def _splits(lines: LineTable, node: ast.stmt) -> Iterator[tuple[int, int, str]]:
    """Where a statement may be broken: a range that is put on separate rows, and the parentheses it gets, if any."""
    value = node.iter if isinstance(node, (ast.For, ast.AsyncFor)) else getattr(node, "value", None)
    if not isinstance(value, ast.expr):
        return
    if isinstance(value, ast.Call) and arguments_of(value) and not _is_chain(value.func):
        start, end = lines.span(value.func)[1] + 1, lines.span(value)[1] - 1
        if lines.text[start - 1] == "(" and lines.text[end] == ")":
            yield start, end, ""
    if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return)) and not isinstance(value, ast.Tuple):
        start, end = lines.span(value)
        if lines.text[start - 1] != "(":
            yield start, end, "()"


def _is_chain(function: ast.expr) -> bool:
    """Whether a call is made on the result of another call: ``a().b()``."""
    return any(isinstance(node, ast.Call) for node in ast.walk(function))
