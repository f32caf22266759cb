"""A statement as LibCST parses it, for edits: its nodes by their places, and what a visitor changes in its text.

Importing LibCST takes a while, so this module is imported when the first edit needs it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from difflib import SequenceMatcher
from itertools import accumulate, chain, repeat, takewhile

import libcst as cst
from libcst.metadata import ByteSpanPositionProvider
from libcst.metadata.span_provider import CodeSpan, SpanProvidingCodegenState

from perflint.findings import Edit

Span = tuple[int, int]

_OPENING, _CLOSING = ("(", "[", "{"), (")", "]", "}")
_FOUND = (cst.BaseExpression, cst.BaseSmallStatement)
_APART = re.compile(r"[\w\n\r#'\"]")


class Written:
    """A piece of code, which begins at an offset of the file; without any nodes if LibCST cannot parse it."""

    def __init__(self, text: str, start: int) -> None:
        self._start = start
        try:
            self._module = cst.parse_module(text)
            self._tokens, self._spans = _tokens_and_spans(self._module)
        except (cst.ParserSyntaxError, RecursionError, KeyError):  # KeyError is what LibCST makes of a RecursionError
            self._module, self._tokens, self._spans = cst.Module([]), [], {}
        self._by_span: dict[Span, cst.CSTNode] = {}
        for node in self._spans:
            if isinstance(node, _FOUND) or (isinstance(node, cst.Arg) and node.keyword is not None):
                self._by_span.setdefault(self.span(node), node)

    def node(self, span: Span) -> cst.CSTNode | None:
        """The expression, argument with a keyword, or simple statement at a place."""
        return self._by_span.get(span)

    def span(self, node: cst.CSTNode) -> Span:
        """The place of a node, without the parentheses around it."""
        place = self._spans[node]
        return self._start + place.start, self._start + place.start + place.length

    def texts(self, span: Span) -> list[cst.FormattedString]:
        """The f-strings of the text at a place, which may be written in several pieces: ``"loss " f"{loss}"``."""
        return list(_texts(self.node(span)))

    def edits(self, visitor: cst.CSTTransformer) -> list[Edit]:
        """The edits that change the file as a visitor changes the nodes: of the words that differ; comments stay.

        Two with nothing but brackets or operators between them, where nobody else has an edit, are one.
        """
        changed = self._module
        with suppress(cst.ParserSyntaxError):  # of code in the visitor that only a newer Python can have
            changed = self._module.visit(visitor)
        found: list[Edit] = []
        for start, end, content in _differences(self._tokens, _tokens_and_spans(changed)[0]):
            between = "".join(self._tokens)[found[-1].end - self._start : start] if found else "all"
            if not _APART.search(between):
                last = found.pop()
                start, content = last.start - self._start, last.content + between + content
            found.append(Edit(self._start + start, self._start + end, content))
        return found


def _tokens_and_spans(module: cst.Module) -> tuple[list[str], Mapping[cst.CSTNode, CodeSpan]]:
    """The words that a module is written as, and the places of its nodes in them."""
    provider = ByteSpanPositionProvider()
    state = SpanProvidingCodegenState(module.default_indent, module.default_newline, provider=provider, get_length=len)
    module._codegen(state)
    return list(filter(None, state.tokens)), provider._computed  # type: ignore[return-value]  # none of these is lazy


def _differences(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int, str]]:
    """The places in a text of words where other words make another text of it; none if a comment would be lost."""
    first = _alike(old, new)
    last = _alike(old[first:][::-1], new[first:][::-1])  # (the search below takes long in long texts)
    before, after = old[first : len(old) - last], new[first : len(new) - last]
    ends, found = list(accumulate(map(len, old), initial=0)), list[tuple[int, int, str]]()
    for kind, start, end, begin, until in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        parts = list(_without_comments(old, first + start, first + end)) if kind != "equal" else []
        if len(parts) > 1 and not _are_in_brackets(new[: first + begin]):
            return []
        pairs = zip(parts, chain(["".join(after[begin:until])], repeat("")), strict=False)
        found += ((ends[part], ends[rest], content) for (part, rest), content in pairs if part < rest or content)
    return found


def _without_comments(words: Sequence[str], start: int, end: int) -> Iterator[tuple[int, int]]:
    """The parts of a range of words without its comments, and the space around each."""
    for at in range(start, end):
        if words[at].startswith("#"):
            is_behind_code = not words[start - 1].isspace() and words[at - 1].isspace()
            yield start, at - is_behind_code
            start = at + 1 + sum(1 for _ in takewhile(str.isspace, words[at + 1 : end]))
    yield start, end


def _are_in_brackets(words: Sequence[str]) -> bool:
    """Whether what follows some words may have several rows."""
    return sum((word in _OPENING) - (word in _CLOSING) for word in words) > 0


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    """How many words two texts begin with alike."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def expressions(parts: object) -> list[cst.FormattedStringExpression]:
    """The expressions among the parts of an f-string, or of a format."""
    given = parts if isinstance(parts, (list, tuple)) else ()
    return [part for part in given if isinstance(part, cst.FormattedStringExpression)]


def _texts(node: cst.CSTNode | None) -> Iterator[cst.FormattedString]:
    if isinstance(node, cst.ConcatenatedString):
        yield from _texts(node.left)
        yield from _texts(node.right)
    elif isinstance(node, cst.FormattedString):
        yield node
