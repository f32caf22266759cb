"""The code of one statement: its nodes with their parents and places, and its LibCST tree where an edit needs it."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from perflint.syntax.tree import children, first_row, walk
from perflint.text.source import LineTable, Source

if TYPE_CHECKING:
    from libcst import BaseExpression, CSTNode, FormattedString, FormattedStringExpression

_DEEPEST = 500
_HAS_PLACES_IN_TEXTS = sys.version_info >= (3, 12)
"""Whether ``ast`` gives expressions in f-strings their places."""

_Span = tuple[int, int]
_Offset = Callable[[int], int]


class StatementCode:
    """A statement without the statements in it: of a compound one, only its header.

    Attributes:
        node: the statement.
        order: its nodes, each with its number: those around others come first.
    """

    def __init__(self, node: ast.stmt, source: Source) -> None:
        self.node = node
        self.order: dict[ast.AST, int] = {}
        self._source = source
        self._parents: dict[ast.AST, ast.AST] = {}
        waiting: list[ast.AST] = [node]
        while waiting:
            item = waiting.pop()
            self.order[item] = len(self.order)
            below = [child for child in children(item) if not isinstance(child, ast.stmt)]
            self._parents.update(dict.fromkeys(below, item))
            waiting += reversed(below)

    def around(self, node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
        """The nodes around one, from the inside out, each with its child that contains the node."""
        while (parent := self._parents.get(node)) is not None:
            yield parent, node
            node = parent

    def span(self, node: ast.AST) -> _Span:
        """The offsets of a node in the file, without the parentheses around it."""
        if not _HAS_PLACES_IN_TEXTS:
            part = next((outer for outer, _ in self.around(node) if isinstance(outer, ast.FormattedValue)), None)
            if part is not None:
                return self._span_in_text(node, part)
        return span_of(node, self._source)

    def cst(self, node: ast.AST) -> BaseExpression | None:
        """The node of LibCST for an expression of the statement; None if LibCST cannot parse the statement."""
        return self._by_span.get(self.span(node))

    def cst_span(self, node: CSTNode) -> _Span:
        """The offsets in the file of a node of LibCST, without the parentheses around it."""
        return self._spans[node]

    @cached_property
    def _by_span(self) -> dict[_Span, BaseExpression]:
        found: dict[_Span, BaseExpression] = {}
        for node, span in self._spans.items():
            if isinstance(node, cst.BaseExpression):
                found[span] = node
        return found

    @cached_property
    def _spans(self) -> dict[CSTNode, _Span]:
        from libcst.metadata import ByteSpanPositionProvider, MetadataWrapper  # this loads LibCST at once

        text, start = self._header()
        try:
            if not text or _is_deep(self.node):
                return {}
            wrapper = MetadataWrapper(cst.parse_module(text), unsafe_skip_copy=True)
            spans = wrapper.resolve(ByteSpanPositionProvider)
        except (cst.ParserSyntaxError, RecursionError, KeyError):  # KeyError is what LibCST makes of a RecursionError
            return {}
        offset = _offsets(text)
        return {
            node: (start + offset(at.start), start + offset(at.start + at.length)) for node, at in spans.items() if at
        }

    def _header(self) -> tuple[str, int]:
        """What LibCST parses, and the offset in the file where it would begin; empty if there is no header."""
        lines, text = self._source.lines, self._source.text
        start, end = lines.span(self.node)
        body: list[ast.stmt] | None = getattr(self.node, "body", None)
        if body is None:
            return ("", 0) if isinstance(self.node, ast.Match) else (text[start:end], start)
        above = ""
        if getattr(self.node, "decorator_list", []):  # their rows are indented alike
            start = lines.line_start(first_row(self.node))
            above = "if 1:\n" if text.startswith((" ", "\t"), start) else ""
        first = body[0]
        row = first_row(first)
        before = lines.line_start(row) if row != first.lineno else lines.span(first)[0]
        if text.startswith("elif", start):
            start += len("el")
        return above + text[start:before] + ("0" if row == first.lineno else " 0"), start - len(above)

    def _span_in_text(self, node: ast.AST, part: ast.FormattedValue) -> _Span:
        """The same for a node in an f-string, by the place that LibCST gives the whole expression."""
        written, siblings = self.parts_of(self._parents[part]), _values(self._parents[part])
        if len(written) != len(siblings):
            return span_of(node, self._source)
        start, end = self._spans[written[siblings.index(part)].expression]
        if node is part.value:
            return start, end
        text = f"({self._source.text[start:end]}\n)"
        alike = ast.parse(text, mode="eval").body
        pairs = zip(walk(part.value), walk(alike), strict=True)
        inner = next(other for own, other in pairs if own is node)
        first, last = _plain_span(inner, LineTable(text))
        return start + first - 1, start + last - 1

    def parts_of(self, joined: ast.AST) -> list[FormattedStringExpression]:
        """The expressions in an f-string, or in a format such as ``{loss:{width}}``, as LibCST parses them."""
        outer = self._parents.get(joined)
        if isinstance(outer, ast.FormattedValue) and outer.format_spec is joined:
            beside = [
                item for item in getattr(self._parents[outer], "values", ()) if isinstance(item, ast.FormattedValue)
            ]
            holders = self.parts_of(self._parents[outer])
            spec = holders[beside.index(outer)].format_spec if len(holders) == len(beside) else None
            return [item for item in spec or () if isinstance(item, cst.FormattedStringExpression)]
        return [part for each in texts_in(self.cst(joined)) for part in _expressions(each)]


def texts_in(node: BaseExpression | None) -> Iterator[FormattedString]:
    """The f-strings of a text that may be written in several pieces: ``"loss " f"{loss}"``."""
    if isinstance(node, cst.ConcatenatedString):
        yield from texts_in(node.left)
        yield from texts_in(node.right)
    elif isinstance(node, cst.FormattedString):
        yield node


def _values(joined: ast.AST) -> list[ast.FormattedValue]:
    return [item for item in getattr(joined, "values", ()) if isinstance(item, ast.FormattedValue)]


def _expressions(text: FormattedString) -> Iterator[FormattedStringExpression]:
    return (part for part in text.parts if isinstance(part, cst.FormattedStringExpression))


def span_of(node: ast.AST, source: Source) -> _Span:
    """The offsets of a node outside of f-strings, without the parentheses around it."""
    start, end = _plain_span(node, source.lines)
    is_in_brackets = isinstance(node, (ast.Tuple, ast.GeneratorExp)) and source.text[start:end].startswith("(")
    if not is_in_brackets or not source.text[start:end].endswith(")"):
        return start, end
    if isinstance(node, ast.Tuple) and node.elts:
        first, after = _plain_span(node.elts[0], source.lines)
        if source.text.count("(", start, first) <= source.text[after:end].partition(",")[0].count(")"):
            return start, end  # ``(a), (b)``
    return start + 1, end - 1


def _plain_span(node: ast.AST, lines: LineTable) -> _Span:
    return lines.span(node)  # type: ignore[arg-type]  # whatever has a place


def _offsets(text: str) -> _Offset:
    """A function from offsets in UTF-8 to those in the text."""
    if text.isascii():
        return lambda at: at
    known = text.encode("utf-8", "surrogatepass")
    return lambda at: len(known[:at].decode("utf-8", "surrogatepass"))


def _is_deep(node: ast.stmt) -> bool:
    """Whether a statement nests such that LibCST, which recurses, could crash the process."""
    level: list[ast.AST] = [node]
    for _ in range(_DEEPEST):
        if not level:
            return False
        # ``a and b and c`` is flat for ast, but nested for LibCST.
        if any(isinstance(item, ast.BoolOp) and len(item.values) > _DEEPEST for item in level):
            return True
        level = [child for item in level for child in children(item) if not isinstance(child, ast.stmt)]
    return True
