"""A statement as LibCST parses it, for edits: what is between the parts of an expression, where ``ast`` says nothing.

Importing LibCST takes a while, so this module is imported when the first edit needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import libcst as cst
from libcst.metadata import ByteSpanPositionProvider, MetadataWrapper

Span = tuple[int, int]


class Argument(NamedTuple):
    """An argument of a call as it is written.

    ``after``: the end of the comma behind it, or its own. ``text``: its value, with the parentheses around it.
    """

    start: int
    end: int
    after: int
    value: Span
    keyword: str
    text: str


class Written:
    """A piece of code, which begins at an offset of the file; without any nodes if LibCST cannot parse it."""

    def __init__(self, text: str, start: int) -> None:
        self._spans: dict[cst.CSTNode, Span] = {}
        try:
            module = cst.parse_module(text)
            found = MetadataWrapper(module, unsafe_skip_copy=True).resolve(ByteSpanPositionProvider)
        except (cst.ParserSyntaxError, RecursionError, KeyError):  # KeyError is what LibCST makes of a RecursionError
            found = {}
        at = _offsets(text, start)
        for node, place in found.items():
            if place is not None:
                self._spans[node] = at(place.start), at(place.start + place.length)
        self._by_span = {span: node for node, span in self._spans.items() if isinstance(node, cst.BaseExpression)}

    def node(self, span: Span) -> cst.BaseExpression | None:
        """The expression at a place."""
        return self._by_span.get(span)

    def span(self, node: cst.CSTNode) -> Span:
        """The place of a node, without the parentheses around it."""
        return self._spans[node]

    def arguments(self, span: Span) -> list[Argument] | None:
        """The arguments of the call at a place, in their order; None if there is no call."""
        call = self.node(span)
        if not isinstance(call, cst.Call):
            return None
        found = []
        for each in call.args:
            after = self._spans[each.comma if isinstance(each.comma, cst.Comma) else each][1]
            keyword = each.keyword.value if each.keyword is not None else ""
            text = cst.Module([]).code_for_node(each.value)
            found.append(Argument(*self._spans[each], after, self._spans[each.value], keyword, text))
        return found

    def texts(self, span: Span) -> list[cst.FormattedString]:
        """The f-strings of the text at a place, which may be written in several pieces: ``"loss " f"{loss}"``."""
        return list(_texts(self.node(span)))


def expressions(parts: object) -> list[cst.FormattedStringExpression]:
    """The expressions among the parts of an f-string, or of a format."""
    given = parts if isinstance(parts, (list, tuple)) else ()
    return [part for part in given if isinstance(part, cst.FormattedStringExpression)]


def _texts(node: cst.BaseExpression | None) -> Iterator[cst.FormattedString]:
    if isinstance(node, cst.ConcatenatedString):
        yield from _texts(node.left)
        yield from _texts(node.right)
    elif isinstance(node, cst.FormattedString):
        yield node


def _offsets(text: str, start: int) -> Callable[[int], int]:
    """A function from offsets in UTF-8 to those in the file."""
    if text.isascii():
        return lambda at: start + at
    known = text.encode("utf-8", "surrogatepass")
    return lambda at: start + len(known[:at].decode("utf-8", "surrogatepass"))
