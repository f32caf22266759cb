"""The code of one statement: its nodes with their parents and places, and its LibCST tree where an edit needs it."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

from perflint.findings import Edit
from perflint.stopwatch import phase
from perflint.syntax.tree import children, first_row, walk
from perflint.text.source import LineTable, Source

if TYPE_CHECKING:
    import libcst

    from perflint.lint.written import Written

_DEEPEST = 500
"""Levels of nesting, and operands of one ``and``."""

_HAS_PLACES_IN_TEXTS = sys.version_info >= (3, 12)
"""Whether ``ast`` gives expressions in f-strings their places."""

_NO_LINE_END = re.compile(r"[^\r\n]")

_Span = tuple[int, int]


class StatementCode:
    """A statement without the statements in it: of a compound one, only its header.

    Attributes:
        node: the statement.
        order: its nodes, each with its number: those around others come first.
        is_too_deep: it nests such that whoever goes through it may recurse too deeply, or take too long.
    """

    def __init__(self, node: ast.stmt, source: Source) -> None:
        self.node = node
        self.order: dict[ast.AST, int] = {}
        self._source = source
        self._parents: dict[ast.AST, ast.AST] = {}
        self.is_too_deep = False
        waiting: list[tuple[ast.AST, int]] = [(node, 0)]
        while waiting:
            item, depth = waiting.pop()
            self.order[item] = len(self.order)
            below = [child for child in children(item) if not isinstance(child, ast.stmt)]
            self._parents.update(dict.fromkeys(below, item))
            self.is_too_deep |= depth > _DEEPEST or (isinstance(item, ast.BoolOp) and len(below) > _DEEPEST)
            waiting += ((child, depth + 1) for child in reversed(below))

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

    def cst(self, node: ast.AST) -> libcst.CSTNode | None:
        """The node of LibCST for one of the statement; None if LibCST cannot parse the statement."""
        return self.written.node(self.span(node))

    @cached_property
    @phase("LibCST parse")
    def written(self) -> Written:
        """The statement as LibCST parses it."""
        from perflint.lint.written import Written  # imported late, because it imports LibCST

        text, start = ("", 0) if self.is_too_deep else self._header()
        return Written(text + self._source.newline, start)

    def _header(self) -> tuple[str, int]:
        """What LibCST parses, and the offset in the file where it would begin; empty if there is no header."""
        lines, text = self._source.lines, self._source.text
        start, end = lines.span(self.node)
        body: list[ast.stmt] | None = getattr(self.node, "body", None)
        if body is None:
            return (self._cases() if isinstance(self.node, ast.Match) else text[start:end]), start
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

    def _cases(self) -> str:
        """A ``match`` with ``0`` and space for what its cases run, so that the rest keeps its place."""
        lines, text, written = self._source.lines, self._source.text, list[str]()
        at, end = lines.span(self.node)
        for case in getattr(self.node, "cases", ()):
            first, last = case.body[0], case.body[-1]
            start, after = lines.span(first)[0], lines.span(last)[1]
            if decorators := getattr(first, "decorator_list", []):
                start = text.rindex("@", 0, lines.span(decorators[0])[0])
            written += [text[at:start], "0", _NO_LINE_END.sub(" ", text[start + 1 : after])]
            at = after
        return "".join([*written, text[at:end]])

    def _span_in_text(self, node: ast.AST, part: ast.FormattedValue) -> _Span:
        """The same for a node in an f-string, by the place that LibCST gives the whole expression."""
        written, siblings = self.parts_of(self._parents[part]), _values(self._parents[part])
        if len(written) != len(siblings):
            return span_of(node, self._source)
        start, end = self.written.span(written[siblings.index(part)].expression)
        if node is part.value:
            return start, end
        text = f"({self._source.text[start:end]}\n)"
        alike = ast.parse(text, mode="eval").body
        pairs = zip(walk(part.value), walk(alike), strict=True)
        inner = next(other for own, other in pairs if own is node)
        first, last = _plain_span(inner, LineTable(text))
        return start + first - 1, start + last - 1

    def parts_of(self, joined: ast.AST) -> list[libcst.FormattedStringExpression]:
        """The expressions in an f-string, or in a format such as ``{loss:{width}}``, as LibCST parses them."""
        from perflint.lint.written import expressions

        outer = self._parents.get(joined)
        if isinstance(outer, ast.FormattedValue) and outer.format_spec is joined:
            beside, holders = _values(self._parents[outer]), self.parts_of(self._parents[outer])
            return expressions(holders[beside.index(outer)].format_spec) if len(holders) == len(beside) else []
        return [part for text in self.written.texts(self.span(joined)) for part in expressions(text.parts)]


def _values(joined: ast.AST) -> list[ast.FormattedValue]:
    return [item for item in getattr(joined, "values", ()) if isinstance(item, ast.FormattedValue)]


class StatementEdit:
    """A LibCST visitor that changes what was found in a statement: ``leave_Call`` and so on get these nodes alone.

        class Renamed(StatementEdit):
            def leave_Attribute(self, found: Attribute, updated: Attribute) -> BaseExpression:
                return updated.with_changes(attr=self.expression("full"))

        context.edits(Renamed(call.func))

    LibCST asks nothing of a visitor but the methods that it calls, so it is first imported when there is an edit.

    Attributes:
        found: the nodes in the index.
        nodes: the same of LibCST.
    """

    def __init__(self, *found: ast.AST) -> None:
        self.found = found
        self.nodes: list[libcst.CSTNode] = []

    def edits(self, code: StatementCode) -> list[Edit]:
        """What it replaces in the text of a statement, in small pieces; nothing if LibCST cannot parse it."""
        self.nodes = [node for each in self.found if (node := code.cst(each)) is not None]
        return code.written.edits(self) if len(self.nodes) == len(self.found) else []  # type: ignore[arg-type]

    def on_visit(self, _: libcst.CSTNode) -> bool:
        """Whether to go to the children, too."""
        return True

    def on_leave(self, node: libcst.CSTNode, updated: libcst.CSTNode) -> Any:
        """Another node in place of one that was found."""
        return self.leave(node, updated) if node in self.nodes else updated

    def leave(self, node: Any, updated: Any) -> Any:
        """The same for a node that was found; ``updated``: with the changes inside it."""
        return getattr(self, f"leave_{type(node).__name__}", lambda _, same: same)(node, updated)

    def on_visit_attribute(self, node: libcst.CSTNode, attribute: str) -> None:
        """LibCST says which child comes next."""

    on_leave_attribute = on_visit_attribute

    @staticmethod
    def expression(text: str) -> libcst.BaseExpression:
        """The nodes of a text, which may have several rows."""
        from libcst import parse_expression

        found = parse_expression(f"({text}\n)")
        return found.with_changes(lpar=found.lpar[1:], rpar=found.rpar[:-1])


class Instead(StatementEdit):
    """Another expression, given as text, in place of one; the parentheses around it stay."""

    def __init__(self, node: ast.AST, text: str) -> None:
        super().__init__(node)
        self.other = text

    def leave(self, _: Any, updated: Any) -> Any:
        """The other expression."""
        other = self.expression(self.other)
        return other.with_changes(lpar=[*updated.lpar, *other.lpar], rpar=[*other.rpar, *updated.rpar])


def statement_around(tree: ast.Module, node: ast.AST) -> ast.stmt | None:
    """The innermost statement that contains an expression."""
    at = getattr(node, "lineno", 0), getattr(node, "col_offset", 0)
    found: ast.stmt | None = None
    inside: list[ast.AST] = [*tree.body]
    while inside:
        item = inside.pop()
        if isinstance(item, ast.stmt):
            row, end = first_row(item), (item.end_lineno or item.lineno, item.end_col_offset or 0)
            if not (row, item.col_offset if row == item.lineno else 0) <= at < end:
                continue
            found, inside = item, []
        inside += (
            child for child in children(item) if isinstance(child, (ast.stmt, ast.excepthandler, ast.match_case))
        )
    return found


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
