"""Edits inside brackets that span several rows: aligned rows below are moved as well."""

from __future__ import annotations

import io
import tokenize
from collections.abc import Sequence

from perflint.findings import Edit
from perflint.text.source import Source

_OPENING, _CLOSING = "([{", ")]}"
_LAYOUT = (tokenize.NL, tokenize.NEWLINE, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT)


def keep_aligned(source: Source, edits: Sequence[Edit], first: int, last: int) -> list[Edit]:
    """The edits, plus edits that move the rows of a statement that were aligned with moved code.

    ``for _, (a,`` with ``b)`` below ``a``: once ``_`` has become ``step``, ``b`` moves by as many columns.

    Each edit is within one of the rows of the statement's header, ``first`` to ``last``.
    """
    text = source.text[source.lines.line_start(first) : source.lines.line_end(last)]
    moved: dict[int, int] = {}
    for row, anchor_row, anchor_column in _aligned_rows(text):
        shift = moved.get(anchor_row, 0)
        for edit in edits:
            edited, column = source.lines.position(edit.start)
            if edited - first + 1 == anchor_row and column - 1 <= anchor_column:
                shift += len(edit.content) - (edit.end - edit.start)
        if shift > 0:
            moved[row] = shift
    found = []
    for row, shift in moved.items():
        line = source.lines.line(first + row - 1)
        at = source.lines.line_start(first + row - 1) + len(line) - len(line.lstrip())
        found.append(Edit(at, at, " " * shift))
    return sorted([*edits, *found])


def _aligned_rows(text: str) -> list[tuple[int, int, int]]:
    """The rows aligned with the code after an open bracket: row, and row and column (from 0) of that code."""
    found: list[tuple[int, int, int]] = []
    open_brackets: list[tuple[int, int] | None] = []
    opened = False
    row = 0
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type in _LAYOUT:
                opened = opened and token.type != tokenize.NL
                continue
            start_row, column = token.start
            if opened and open_brackets and start_row == row:
                open_brackets[-1] = token.start
            if start_row != row and open_brackets:
                anchor = open_brackets[-1]
                if anchor is not None and anchor[1] == column and token.string not in _CLOSING:
                    found.append((start_row, *anchor))
            row, opened = token.end[0], False
            if token.type != tokenize.OP:
                continue
            if token.string in _OPENING:
                open_brackets.append(None)
                opened = True
            elif token.string in _CLOSING and open_brackets:
                open_brackets.pop()
    except (tokenize.TokenError, IndentationError):
        return found  # the text ends inside the statement
    return found
