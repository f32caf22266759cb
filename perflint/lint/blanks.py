"""Finds the statements of a unit that LibCST need not parse: no check looks at them, and parsing is slow."""

from __future__ import annotations

import ast
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from perflint.stopwatch import phase
from perflint.syntax.scopes import TRIES
from perflint.syntax.tree import first_row
from perflint.text.source import Source

Range = tuple[int, int]
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_AROUND_LOOPS = (*TRIES, ast.With, ast.AsyncWith)
"""Statements in which a loop catches exceptions and continues; a fix for the loop edits what is done then."""

_NEVER_MOVED = frozenset({"add_argument"})
"""Methods that are called in long runs, and that no rule is about (the options of a program)."""


@phase("units")
def blanks(nodes: Sequence[ast.stmt], rows: Sequence[int], source: Source) -> list[Range]:
    """Runs of statements that no check needs, as offsets in the file, in order.

    Kept are each statement on one of the rows, the headers around it, and what else a check or a fix reads: see
    ``_Needs`` and the methods of ``_Blanks``. The rows are ascending.
    """
    finder = _Blanks(rows, source)
    finder.block(nodes, _Needs())
    return finder.found


def blanked(text: str, shift: int, ranges: Sequence[Range]) -> str:
    """A text, which begins at ``shift``, with each range replaced by a number of the same length, so that offsets stay.

    A number is a valid statement wherever other statements are, and nothing is faster to parse.
    """
    parts, at = [], 0
    for start, end in ranges:
        parts += [text[at : start - shift], "0" * (end - start)]
        at = end - shift
    return "".join([*parts, text[at:]])


@dataclass(frozen=True)
class _Needs:
    """What is kept in a loop besides the requested statements, because a fix reads it.

    ``names``: statements that mention one of these (if a loop reads a sum, the fix for the sum edits them).
    ``strings``: what may contain a string of several rows (a row that begins in a string is not moved with the loop).
    """

    names: frozenset[str] = frozenset()
    strings: bool = False

    def hold(self, text: str) -> bool:
        """Whether a statement with this text is kept."""
        if self.strings and ("'" in text or '"' in text) and ("\n" in text or "\r" in text):
            return True
        return any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) for name in self.names)


class _Blanks:
    """Collects ranges, block by block."""

    def __init__(self, rows: Sequence[int], source: Source) -> None:
        self.found: list[Range] = []
        self._rows = rows
        self._text = source.text
        self._lines = source.lines

    def block(self, body: Sequence[ast.stmt], needs: _Needs, keeps_end: bool = False) -> None:
        """Go through a block; ``keeps_end``: keep its last plain statement, which fixes look at."""
        kept = self._asked(body)
        if keeps_end and not any(True for _ in _blocks(body[-1])):
            kept[-1] = True
        run: list[ast.stmt] = []
        for node, is_kept in zip(body, kept, strict=True):
            if is_kept or (needs != _Needs() and needs.hold(self._source_of(node))):
                self._close(run)
                run = []
                self._inside(node, needs)
            else:
                run.append(node)
        self._close(run)

    def _asked(self, body: Sequence[ast.stmt]) -> list[bool]:
        """For each statement, whether it is requested, or shares a row or a run of calls with a requested one.

        Fixes put consecutive calls under one guard, and check whether a block contains nothing else.
        """
        asked = [self._has_row(first_row(node), _last_row(node)) for node in body]
        calls = [_may_be_moved(node) for node in body]
        joined = [
            _last_row(body[index]) >= first_row(body[index + 1]) or (calls[index] and calls[index + 1])
            for index in range(len(body) - 1)
        ]
        for index, is_joined in enumerate(joined):
            asked[index + 1] |= is_joined and asked[index]
        for index in reversed(range(len(joined))):
            asked[index] |= joined[index] and asked[index + 1]
        return asked

    def _inside(self, node: ast.stmt, needs: _Needs) -> None:
        if isinstance(node, _LOOPS):
            strings = needs.strings or self._has_row(node.lineno, node.lineno)
            needs = _Needs(needs.names | set(self._sums([node])), strings)
        elif isinstance(node, _AROUND_LOOPS):
            needs = _Needs(needs.names | set(self._sums([node])), needs.strings)
        keeps_end = isinstance(node, ast.If) and self._has_row(node.lineno, _last_row(node.test))
        for block in _blocks(node):
            if isinstance(node, ast.If) and block is node.orelse and self._is_elif(block[0]):
                self._inside(block[0], needs)  # an `elif` cannot be replaced by another statement
            else:
                self.block(block, needs, keeps_end)

    def _close(self, run: list[ast.stmt]) -> None:
        start = self._start(run[0]) if run else None
        if start is not None:
            self.found.append((start, self._span(run[-1])[1]))

    def _start(self, node: ast.stmt) -> int | None:
        """Where a statement begins; None if that is unclear (``@(f)``)."""
        decorators: list[ast.expr] = getattr(node, "decorator_list", [])
        if not decorators:
            return self._span(node)[0]
        start = self._lines.line_start(decorators[0].lineno)
        before = self._text[start : self._span(node)[0]]
        return start + before.index("@") if before.strip() == "@" else None

    def _is_elif(self, node: ast.stmt) -> bool:
        return isinstance(node, ast.If) and self._source_of(node).startswith("elif")

    def _sums(self, body: Sequence[ast.stmt]) -> Iterator[str]:
        """Names that a requested statement adds to or appends to."""
        for node in body:
            if not self._has_row(first_row(node), _last_row(node)):
                continue
            if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add) and isinstance(node.target, ast.Name):
                yield self._source_of(node.target)
            elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
                called = node.value.func
                if isinstance(called, ast.Attribute) and called.attr == "append" and isinstance(called.value, ast.Name):
                    yield self._source_of(called.value)
            for block in _blocks(node):
                yield from self._sums(block)

    def _has_row(self, first: int, last: int) -> bool:
        at = bisect_left(self._rows, first)
        return at < len(self._rows) and self._rows[at] <= last

    def _source_of(self, node: ast.stmt | ast.expr) -> str:
        start, end = self._span(node)
        return self._text[start:end]

    def _span(self, node: ast.stmt | ast.expr) -> Range:
        """The span of a node, with its decorators (without the first ``@``)."""
        offset, head = self._lines.offset, (getattr(node, "decorator_list", None) or [node])[0]
        return offset(head.lineno, head.col_offset), offset(_last_row(node), node.end_col_offset or 0)


def _may_be_moved(node: ast.stmt) -> bool:
    """Whether a statement is a call, which a fix may move or delete together with its neighbours."""
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
        return False
    called = node.value.func
    return not isinstance(called, ast.Attribute) or called.attr not in _NEVER_MOVED


def _blocks(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The blocks of a statement that are not empty, in order."""
    for part in (node, *getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        if getattr(part, "body", None):
            yield part.body
    for name in ("orelse", "finalbody"):
        if getattr(node, name, None):
            yield getattr(node, name)


def _last_row(node: ast.stmt | ast.expr) -> int:
    return node.end_lineno or node.lineno
