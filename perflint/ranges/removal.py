"""Removes from a file what ``perflint instrument`` has inserted: its rows, and the code of its object."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from perflint.findings import Edit
from perflint.ranges import inserted_code
from perflint.syntax.tree import walk
from perflint.text.source import LineTable


class CannotRemove(Exception):
    """Something cannot be removed; ``str(error)`` says where and why."""


def is_instrumented(text: str) -> bool:
    """Whether a text may contain ranges of perflint."""
    return inserted_code.NAME in text or inserted_code.BEGIN in text


def removal(text: str) -> list[Edit]:
    """The edits that remove all of it; none if there is nothing.

    Raises:
        CannotRemove: the text is not Python, or a call shares its row with something else.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise CannotRemove(f"it does not parse: {error}") from error
    lines = LineTable(text)
    blocks = _blocks(lines)
    found = sorted({*blocks, *_rows(tree, lines, blocks)})
    return [_without(first, last, lines) for first, last in _joined(found)]


def _joined(found: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Rows that follow each other as one piece."""
    at = 0
    while at < len(found):
        first, last = found[at]
        while at + 1 < len(found) and found[at + 1][0] == last + 1:
            at += 1
            last = found[at][1]
        yield first, last
        at += 1


def _blocks(lines: LineTable) -> list[tuple[int, int]]:
    """The first and last rows of the object's code."""
    found: list[tuple[int, int]] = []
    begin = 0
    for row in range(1, lines.rows + 1):
        line = lines.line(row)
        if line.startswith(inserted_code.BEGIN):
            begin = row
        elif line.rstrip() == inserted_code.END and begin:
            found.append((begin, row))
            begin = 0
    if begin:
        raise CannotRemove(f"line {begin} begins code of perflint, but no row marks its end ({inserted_code.END})")
    return found


def _rows(tree: ast.Module, lines: LineTable, blocks: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The rows of the calls; each must have its own row or rows."""
    for node in walk(tree):
        if not isinstance(node, ast.Name) or node.id != inserted_code.NAME or _is_within(node.lineno, blocks):
            continue
        statement = next(
            (item for item in walk(tree) if isinstance(item, ast.Expr) and _is_call(item.value, node)),
            None,
        )
        if statement is None or not _stands_alone(statement, lines):
            raise CannotRemove(f"line {node.lineno} uses {inserted_code.NAME} next to other code: remove it by hand")
        yield statement.lineno, statement.end_lineno or statement.lineno


def _is_within(row: int, blocks: list[tuple[int, int]]) -> bool:
    return any(first <= row <= last for first, last in blocks)


def _is_call(value: ast.expr, name: ast.Name) -> bool:
    """Whether a value is ``_perflint_range("forward")`` or ``_perflint_range.step()``."""
    if not isinstance(value, ast.Call):
        return False
    return value.func is name or (isinstance(value.func, ast.Attribute) and value.func.value is name)


def _stands_alone(statement: ast.stmt, lines: LineTable) -> bool:
    before = lines.line(statement.lineno)[: statement.col_offset]
    end = lines.offset(statement.end_lineno or statement.lineno, statement.end_col_offset or 0)
    after = lines.text[end : lines.line_end(statement.end_lineno or statement.lineno)].strip()
    return not before.strip() and (not after or after.startswith("#"))


def _without(first: int, last: int, lines: LineTable) -> Edit:
    """The edit that removes rows; if the last row has no line end, the line end before it is removed too."""
    start, end = lines.line_start(first), lines.line_end(last)
    if end == len(lines.text) and not lines.text.endswith(("\n", "\r")) and start:
        start -= 2 if lines.text[start - 2 : start] == "\r\n" else 1
    return Edit(start, end, "")
