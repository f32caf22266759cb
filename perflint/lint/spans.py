"""Computes the character offsets of each node of a LibCST tree in its text."""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType

import libcst as cst
from libcst._nodes.internal import CodegenState

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
