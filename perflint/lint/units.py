"""The parts of a file that LibCST parses: the statements that can hold a finding, with the positions of their nodes."""

from __future__ import annotations

import ast
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from types import TracebackType

import libcst as cst
from libcst._nodes.internal import CodegenState

from perflint.stopwatch import phase
from perflint.syntax.scopes import TRIES
from perflint.syntax.tree import first_row
from perflint.text.source import Source

# Computes the character offsets of each node of a LibCST tree in its text.

Spans = dict["cst.CSTNode", tuple[int, int]]


class SpanState(CodegenState):
    """Writes a tree out as LibCST does, and records where each node begins and ends.

    It does the same as LibCST's own provider of spans, without a generator and a dataclass for each node, which take
    most of the provider's time. The joined ``tokens`` are the text.
    """

    def __init__(self, module: cst.Module) -> None:
        super().__init__(module.default_indent, module.default_newline)
        self.spans: Spans = {}
        self.at = 0
        self._starts: list[int] = []

    def add_indent_tokens(self) -> None:
        """Called at the beginning of each row."""
        self.tokens.extend(self.indent_tokens)
        self.at += sum(map(len, self.indent_tokens))

    def add_token(self, value: str) -> None:
        """Called for each piece of text."""
        self.tokens.append(value)
        self.at += len(value)

    def before_codegen(self, node: cst.CSTNode) -> None:
        """Called before a node is written."""
        self._starts.append(self.at)

    def after_codegen(self, node: cst.CSTNode) -> None:
        """Called after a node is written: it ends here, unless it has given its exact end."""
        start = self._starts.pop()
        self.spans.setdefault(node, (start, self.at))

    def record_syntactic_position(  # type: ignore[override]  # LibCST's is a generator
        self, node: cst.CSTNode, *, start_node: cst.CSTNode | None = None, end_node: cst.CSTNode | None = None
    ) -> _Exact:
        """Called by a node that includes parentheses or space, around its actual code."""
        return _Exact(self, node, start_node, end_node)


@dataclass(slots=True)
class _Exact:
    """Records the span of one node when its actual code has been written."""

    state: SpanState
    node: cst.CSTNode
    start_node: cst.CSTNode | None
    end_node: cst.CSTNode | None
    start: int = 0

    def __enter__(self) -> None:
        self.start = self.state.at

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        spans = self.state.spans
        start = self.start if self.start_node is None else spans[self.start_node][0]
        end = self.state.at if self.end_node is None else spans[self.end_node][1]
        spans[self.node] = (start, end)


# Finds the statements of a unit that LibCST need not parse: no check looks at them, and parsing is slow.

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


# The units of a file that LibCST parses: only the statements and methods that can contain a finding.

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
    # merged  # this loads LibCST at once

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
