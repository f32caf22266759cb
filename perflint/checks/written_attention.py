"""PPF902: attention that a layer writes out, although there is one call for it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import libcst as cst

from perflint import catalogue
from perflint.checks.delete import whole_rows
from perflint.checks.spelled import Spelling, spelling
from perflint.facts.attention import WrittenAttention, turned
from perflint.facts.entry_attention import TrainedAttention, trained_attention_in
from perflint.findings import Confidence, Edit, Fix, Level, Related
from perflint.index.project import FileIndex
from perflint.lint.context import Context
from perflint.lint.registry import check, statement_gate
from perflint.syntax.names import dotted
from perflint.syntax.scopes import Statement
from perflint.text.source import Source

CODE = "PPF902"
_PADDLE = "3.3"
_TURN = ".transpose([0, 2, 1, 3])"
_MASKED = "the mask needs the axes batch, heads, queries and keys (size 1 where it is the same for all)"
_COMMENTED = "the lines that it replaces contain comments"
_MOST_SHOWN = 3


@statement_gate(CODE)
def _written_out(file: FileIndex) -> Iterator[tuple[Statement, Confidence]]:
    for place in trained_attention_in(file):
        for statement in place.found.scope.statements:
            if place.found.softmax in statement.calls:
                yield statement, _confidence(place)


def _confidence(place: TrainedAttention) -> Confidence:
    return Confidence.MEDIUM if place.is_sure else Confidence.LOW


@check("Call")
def unfused_attention(call: cst.Call, context: Context) -> None:
    """Report the softmax of attention whose weights go to memory and back."""
    places = trained_attention_in(context.file) if CODE in context.codes and context.point is not None else ()
    node = context.expression(call) if places else None
    place = next((each for each in places if each.found.softmax is node), None)
    if place is None:
        return
    written = _call(place.found, context.file)
    if written is None:
        return
    context.report(
        CODE,
        call,
        _fix(place.found, written[0], written[1], context.file),
        related=_beside(place),
        confidence=_confidence(place),
        claims=False,
        call=written[0],
        back="" if place.found.is_turned else f" and `{_TURN}` behind it",
    )


def _beside(place: TrainedAttention) -> tuple[Related, ...]:
    entry = place.entry
    step = Related(entry.file.path, entry.file.row(entry.call), "the training step")
    others = [Related(file.path, file.row(each.softmax), "the same") for file, each in place.others[:_MOST_SHOWN]]
    return (step, *others)


def _call(found: WrittenAttention, file: FileIndex) -> tuple[str, Spelling] | None:
    """The call that does the same, and how its function is written; None if Paddle has no name there."""
    module, _, _ = (dotted(found.softmax.func) or "").rpartition(".")
    is_there = file.names.resolve(module) == "paddle.nn.functional"
    name = "scaled_dot_product_attention"
    spelled = Spelling(f"{module}.{name}") if is_there else _spelling(name, found, file)
    if spelled is None:
        return None
    weights = found.weights
    queries = _with_heads_last(weights.queries)
    if not weights.is_usual:
        queries += f" * {_correction(found)}"
    arguments = [queries, _with_heads_last(weights.keys), _with_heads_last(found.values)]
    if weights.mask is not None:
        arguments.append(f"attn_mask={ast.unparse(weights.mask)}")
    if found.dropout:
        arguments += [f"dropout_p={found.dropout}", "training=self.training"]
    return f"{spelled.name}({', '.join(arguments)})", spelled


def _spelling(name: str, found: WrittenAttention, file: FileIndex) -> Spelling | None:
    return spelling(f"paddle.nn.functional.{name}", found.statement.node, file)


def _correction(found: WrittenAttention) -> str:
    """The factor that compensates for the scale of the fused kernel, one over the square root of the width."""
    width = f"{_text(found.weights.queries)}.shape[-1] ** 0.5"
    return f"({found.weights.factor} * {width})" if found.weights.factor else f"{width}"


def _with_heads_last(node: ast.expr) -> str:
    """A tensor with the axes batch, sequence, heads and width."""
    inner = turned(node, (0, 2, 1, 3))
    return _text(inner) if inner is not None else f"{_text(node)}{_TURN}"


def _text(node: ast.expr) -> str:
    text = ast.unparse(node)
    return text if isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript)) else f"({text})"


def _fix(found: WrittenAttention, call: str, spelled: Spelling, file: FileIndex) -> Fix:
    """The call in place of the product with the values; the rows above it are removed."""
    rule, source = catalogue.shipped()[CODE], file.source
    rows = _rows(found, source)
    reason = _MASKED if found.weights.mask is not None else _COMMENTED if rows is None else ""
    if reason or rows is None:
        return Fix(rule.fix_title, (), Level.DISPLAY, reason, paddle=_PADDLE)
    start, end = source.lines.span(found.result)
    put = Edit(start, end, call if found.is_turned else call + _TURN)
    edits = tuple(sorted((*rows, put)))
    return spelled.trusted(Fix(rule.fix_title, edits, rule.fix_level, rule.fix_reason, spelled.imports, _PADDLE))


def _rows(found: WrittenAttention, source: Source) -> list[Edit] | None:
    """The edits that remove the steps, one for adjacent ones; None if a comment would be lost."""
    edits: list[Edit] = []
    below = source.lines.line_start(found.statement.node.lineno)
    for step in sorted(found.steps, key=lambda each: each.start, reverse=True):
        start, end = source.lines.span(step.node)
        first, last = source.lines.position(start)[0], source.lines.position(end)[0]
        begin, rest = source.lines.line_start(first), source.lines.line_end(last)
        if "#" in source.text[begin:rest] or source.text[begin:rest].strip() != source.text[start:end].strip():
            return None
        if source.text[rest:below].strip():
            edits.append(whole_rows(start, end, source))
        elif edits and edits[-1].start == below:
            edits[-1] = Edit(begin, edits[-1].end, "")
        else:
            edits.append(Edit(begin, below, ""))
        below = begin
    return edits
