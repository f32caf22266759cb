"""The pieces of a file that LibCST parses: the statements and methods that can hold a finding, and no others."""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

import libcst as cst
from libcst.metadata.span_provider import SpanProvidingCodegenState

from perflint.source import Source

_HEADER = "if 1:\n"


@dataclass(frozen=True)
class Unit:
    """Whole rows of a file (both from 1, inclusive) that LibCST can parse by themselves.

    ``indented``: the rows are the body of a class, so they need a header line to be parsed.
    """

    first: int
    last: int
    indented: bool


@dataclass
class ParsedUnit:
    """A parsed unit; ``span(node)`` gives offsets in the file."""

    module: cst.Module
    spans: dict[cst.CSTNode, tuple[int, int]]


def units_of(tree: ast.Module) -> list[Unit]:
    """A file cut into its smallest pieces: top-level statements, and the statements of class bodies."""
    found: list[Unit] = []
    _cut(tree.body, False, found)
    return found


def chosen(units: list[Unit], rows: Iterable[int]) -> list[Unit]:
    """The units that hold any of these rows, in order."""
    starts = [unit.first for unit in units]
    picked = set()
    for row in rows:
        index = bisect_right(starts, row) - 1
        if index >= 0 and row <= units[index].last:
            picked.add(index)
    return [units[index] for index in sorted(picked)]


def parse(source: Source, unit: Unit) -> ParsedUnit:
    """A unit as a LibCST module, with the offsets of its nodes.

    Raises:
        libcst.ParserSyntaxError: LibCST does not know this syntax (it is newer than the installed release).
    """
    lines = source.lines
    start, end = lines.line_start(unit.first), lines.line_end(unit.last)
    header = _HEADER if unit.indented else ""
    module = cst.parse_module(header + source.text[start:end])
    return ParsedUnit(module, _spans(module, start - len(header)))


class _Spans:
    """Stands in for the metadata provider that the codegen state writes to."""

    def __init__(self) -> None:
        self._computed: dict[cst.CSTNode, object] = {}


def _spans(module: cst.Module, shift: int) -> dict[cst.CSTNode, tuple[int, int]]:
    store = _Spans()
    state = SpanProvidingCodegenState(
        default_indent=module.default_indent,
        default_newline=module.default_newline,
        provider=store,  # type: ignore[arg-type]
        get_length=len,
    )
    module._codegen(state)
    return {
        node: (span.start + shift, span.start + span.length + shift)  # type: ignore[attr-defined]
        for node, span in store._computed.items()
    }


def _cut(body: list[ast.stmt], indented: bool, found: list[Unit]) -> None:
    for node in body:
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
        last = node.end_lineno or node.lineno
        if isinstance(node, ast.ClassDef) and node.body[0].lineno > node.lineno and not _shares_row(node.body[0], node):
            _cut(node.body, True, found)
            continue
        if found and first <= found[-1].last:
            found[-1] = Unit(found[-1].first, max(last, found[-1].last), found[-1].indented)
        else:
            found.append(Unit(first, last, indented))


def _shares_row(child: ast.stmt, node: ast.ClassDef) -> bool:
    """Whether a class body starts on the last row of the class header."""
    header_end = max([node.lineno, *((base.end_lineno or 0) for base in [*node.bases, *(k.value for k in node.keywords)])])
    first = min([child.lineno, *(d.lineno for d in getattr(child, "decorator_list", []))])
    return first <= header_end
