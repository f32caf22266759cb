"""PPF202 and PPF405: logging at each step, with and without a tensor in it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from perflint.findings import Confidence
from perflint.flow.branches import EACH_STEP, Often
from perflint.lint.context import Context
from perflint.lint.registry import At, rule
from perflint.rules import guard
from perflint.rules.guard import PLAIN_LOG, TENSOR_LOG, code_of, log_family
from perflint.syntax.parameters import arguments_of
from perflint.syntax.tree import string_of
from perflint.syntax.vocabulary import LOGGING
from perflint.training.every import every
from perflint.training.evidence import terminal_names
from perflint.training.steps import Point

_TO_TEXT = frozenset({"format", "str", "repr"})

_EVENTS = {
    "text": "printed line",
    "declared": "printed line",
    "record": "recorded value",
    "progress": "progress text",
}
"""The cost of a logging call without a tensor, by its family."""


@rule(PLAIN_LOG, TENSOR_LOG, at=At.STEP, calls=LOGGING, declared="logging_calls")
def log_call(call: ast.Call, context: Context) -> None:
    """Report a logging call, including everything that is read for it."""
    family = log_family(call, context)
    if not family:
        return
    code, step = code_of(call, context), context.running
    runs = every(context.file.project, context.here) if code == PLAIN_LOG else EACH_STEP
    # a test for gradient accumulation, whose length is usually 1
    if runs.often is Often.SOMETIMES:
        context.claim(call)
        return  # some test selects the steps, and nothing shows that it is true at each of them
    # A line that is only reached by a method's name may belong to the start of a run, or to something rare.
    confidence = Confidence.LOW if code == PLAIN_LOG and not step.sure else Confidence.HIGH
    event = _EVENTS[family] if code == PLAIN_LOG else ""
    guarded = guard.guard_fix(call, family, context)
    context.report(guarded.fix, code=code, confidence=confidence, event=event, guarded=guarded.span)


def _texts(point: Point) -> Iterator[ast.expr]:
    """The expressions of a statement that convert values to text."""
    if point.statement.formats or not _TO_TEXT.isdisjoint(terminal_names(point.statement)):
        for item in point.statement.nodes:
            if isinstance(item, ast.expr) and any(True for _ in _formatted(item)):
                yield item


@rule(TENSOR_LOG, at=At.STEP, find_at=_texts)
def formatted_tensor(node: ast.expr, context: Context) -> None:
    """Report a tensor that is converted to text outside of a logging call."""
    outer = context.parent(node)
    if isinstance(outer, ast.FormattedValue) and outer.format_spec is node:
        return  # the ``{width}`` of ``{loss:{width}}``
    part = next((part for part in _formatted(node) if context.kind(part).is_tensor), None)
    if part is not None:
        span = _written(node, part, context) if isinstance(node, ast.JoinedStr) else None
        fix = guard.format_fix(context)
        context.report(fix, span=span, tensor=context.text(part))


def _written(node: ast.JoinedStr, part: ast.expr, context: Context) -> tuple[int, int] | None:
    """The f-string with a value, of a text that is written in several pieces."""
    start = context.range(part)[0]
    written = context.code(context.here.statement.node).written
    pieces = map(written.span, written.texts(context.range(node)))
    return next((piece for piece in pieces if piece[0] <= start < piece[1]), None)


def _formatted(node: ast.expr) -> Iterator[ast.expr]:
    """The values that an expression converts to text."""
    if isinstance(node, ast.JoinedStr):
        yield from (part.value for part in node.values if isinstance(part, ast.FormattedValue))
    elif isinstance(node, ast.BinOp):
        if isinstance(node.op, ast.Mod) and (isinstance(node.left, ast.JoinedStr) or string_of(node.left) is not None):
            yield from node.right.elts if isinstance(node.right, ast.Tuple) else [node.right]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        if string_of(node.func.value) is not None:
            yield from arguments_of(node)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("str", "repr"):
        yield from arguments_of(node)[:1]
