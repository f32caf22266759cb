"""The units of a file that LibCST parses: only the statements and methods that can contain a finding."""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import libcst as cst

from perflint.lint.blanks import Range, blanked, blanks
from perflint.stopwatch import phase
from perflint.syntax.tree import first_row
from perflint.text.source import Source

if TYPE_CHECKING:
    from perflint.lint.spans import Spans

_HEADER = "if 1:\n"
_DEEPEST = 500
_FORM_FEED = re.compile(r"[ \t\x0c]*\x0c")
_PAGE = re.compile(r"(?<!\\)(\r\n|\r|\n)([ \t\x0c]*\x0c)")
"""The end of a row, with anything before the indentation of the next: Python counts it from the last form feed."""


class UnparsableError(Exception):
    """A unit that LibCST cannot parse."""


@dataclass(frozen=True)
class Unit:
    """Whole rows of a file (both from 1, inclusive) that LibCST can parse by themselves.

    ``indented``: the rows are the body of a class, so they need a header line to be parsed. ``rows``: the requested
    rows, ascending; None: all of them.
    """

    first: int
    last: int
    indented: bool
    nodes: tuple[ast.stmt, ...] = field(default=(), compare=False, repr=False)
    rows: tuple[int, ...] | None = field(default=None, compare=False, repr=False)

    @property
    @phase("units")
    def is_too_deep(self) -> bool:
        """Whether the nesting is such that LibCST, which recurses, could crash the process or never finish."""
        level: list[ast.AST] = list(self.nodes)
        for depth in range(_DEEPEST):
            if not level:
                return False
            level = [node for node in level if not _is_narrow(node, (_DEEPEST - depth) // 2 - 4)]
            # ``a and b and c`` is flat for ast, but nested for LibCST.
            if any(isinstance(node, ast.BoolOp) and len(node.values) > _DEEPEST for node in level):
                return True
            level = [child for node in level for child in ast.iter_child_nodes(node)]
        return True


@dataclass
class ParsedUnit:
    """A parsed unit.

    ``spans``: offsets in its own text, which begins ``shift`` characters after the start of the file.
    """

    module: cst.Module
    spans: Spans
    shift: int

    def span(self, node: cst.CSTNode) -> tuple[int, int]:
        """The offsets of a node of the unit in the file."""
        start, end = self.spans[node]
        return start + self.shift, end + self.shift


class Reader:
    """Parses the units of one file repeatedly, and keeps those parsed last."""

    def __init__(self) -> None:
        self._before: dict[str, tuple[cst.Module, Spans]] = {}
        self._now: dict[str, tuple[cst.Module, Spans]] = {}

    def begin(self) -> None:
        """Start with a new text of the file."""
        self._before, self._now = self._now, {}

    def parsed(self, text: str) -> tuple[cst.Module, Spans]:
        """The tree of a piece of code, and the spans of its nodes."""
        known = self._now.get(text) or self._before.get(text) or _tree(text)
        self._now[text] = known
        return known


@phase("units")
def units_of(tree: ast.Module) -> list[Unit]:
    """A file split into its smallest units: top-level statements, and the statements of class bodies."""
    found: list[Unit] = []
    _cut(tree.body, False, found)
    return found


@phase("units")
def chosen(units: list[Unit], rows: Iterable[int]) -> list[Unit]:
    """The units that contain any of these rows, in order, each with the rows that it contains."""
    starts = [unit.first for unit in units]
    picked: dict[int, list[int]] = {}
    for row in sorted(rows):
        index = bisect_right(starts, row) - 1
        if index >= 0 and row <= units[index].last:
            picked.setdefault(index, []).append(row)
    return [replace(units[index], rows=tuple(held)) for index, held in picked.items()]


@phase("units")
def parse(source: Source, unit: Unit, reader: Reader | None = None) -> ParsedUnit:
    """A unit of a file as a LibCST module, with the offsets of its nodes; without statements that no check needs.

    Raises:
        UnparsableError: LibCST does not know this syntax (it is newer than the installed release), or nests too deeply
            over it, or does not reproduce the text exactly, so that offsets would be wrong.
    """
    if unit.rows is not None:
        with suppress(UnparsableError, RecursionError):
            return _parsed(source, unit, blanks(unit.nodes, unit.rows, source), reader)
    return _parsed(source, unit, [], reader)


def _parsed(source: Source, unit: Unit, ranges: Sequence[Range], reader: Reader | None) -> ParsedUnit:
    lines = source.lines
    start, end = lines.line_start(unit.first), lines.line_end(unit.last)
    piece = blanked(source.text[start:end], start, ranges)
    ahead = _FORM_FEED.match(piece)
    text = piece[ahead.end() :] if ahead else piece
    start += len(piece) - len(text)
    header = _HEADER if unit.indented else ""
    # LibCST loses a form feed before a statement, and keeps one at the end of a row: offsets of code do not change.
    text = header + _PAGE.sub(r"\2\1", text)
    try:
        return ParsedUnit(*(reader.parsed(text) if reader else _tree(text)), start - len(header))
    except (cst.ParserSyntaxError, RecursionError) as error:
        raise UnparsableError from error


def _is_narrow(node: ast.AST, widest: int) -> bool:
    """Whether a node is on one row and short: every two levels of nesting take at least one character."""
    if not isinstance(node, (ast.stmt, ast.expr)) or node.lineno != node.end_lineno:
        return False
    return (node.end_col_offset or 0) - node.col_offset < widest


def _tree(text: str) -> tuple[cst.Module, Spans]:
    with phase("LibCST parse"):
        module = cst.parse_module(text)
    return module, _spans(module, text)


@phase("spans")
def _spans(module: cst.Module, text: str) -> Spans:
    from perflint.lint.spans import SpanState  # this loads LibCST at once

    state = SpanState(module)
    try:
        module._codegen(state)
    except KeyError as error:  # what LibCST turns a RecursionError into
        raise UnparsableError from error
    if "".join(state.tokens).rstrip("\r\n") != text.rstrip("\r\n"):  # a final "\r" is lost, which does not matter
        raise UnparsableError
    return state.spans


def _cut(body: list[ast.stmt], indented: bool, found: list[Unit]) -> None:
    for node in body:
        first = first_row(node)
        last = node.end_lineno or node.lineno
        if isinstance(node, ast.ClassDef) and node.body[0].lineno > node.lineno and not _shares_row(node.body[0], node):
            _cut(node.body, True, found)
            continue
        if found and first <= found[-1].last:
            previous = found[-1]
            found[-1] = Unit(previous.first, max(last, previous.last), previous.indented, (*previous.nodes, node))
        else:
            found.append(Unit(first, last, indented, (node,)))


def _shares_row(child: ast.stmt, node: ast.ClassDef) -> bool:
    """Whether a class body starts on the last row of the class header."""
    arguments = [*node.bases, *(keyword.value for keyword in node.keywords)]
    header_end = max([node.lineno, *(argument.end_lineno or 0 for argument in arguments)])
    return first_row(child) <= header_end
