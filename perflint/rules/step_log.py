"""PPF202, PPF405 and PPF804: logging at each step, with and without a tensor, or of a value that all ranks exchange."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from perflint.catalogue import shipped
from perflint.facts.gradient_graphs import feeding_backward
from perflint.facts.usages import Aim, usages, usages_of_name
from perflint.findings import Confidence
from perflint.flow.branches import EACH_STEP, Often
from perflint.flow.calls import CallGraph
from perflint.flow.uses import uses_in
from perflint.index.project import FileIndex, Place
from perflint.lint.context import Context
from perflint.lint.registry import At, rule
from perflint.paddle.inside import COLLECTIVES, DISTRIBUTED
from perflint.query import query
from perflint.rules import guard
from perflint.rules.guard import PLAIN_LOG, TENSOR_LOG, code_of, log_family
from perflint.syntax.names import dotted
from perflint.syntax.parameters import arguments_of
from perflint.syntax.scopes import Statement, terminal
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


# PPF804: all ranks exchange a value at each step that only log lines show.

# Finds values that all ranks exchange at a step although only log lines show them.


def only_logged(point: Point, call: ast.Call) -> bool:
    """Whether a call exchanges a value between ranks that only log lines of the same function show."""
    name = _exchanged(point, call)
    scope = uses_in(point.function)
    if name is not None:
        if name in feeding_backward(point.scope):
            return False
        return _are_logs(usages_of_name(name, point, scope))
    if not _holds(point.statement, call) or not _exchanges(point.function, call):
        return False
    return _are_logs(usages(call, point, scope))


def _are_logs(aims: list[Aim]) -> bool:
    return bool(aims) and all(aim.is_log for aim in aims)


def _holds(statement: Statement, call: ast.Call) -> bool:
    """Whether a statement binds names to the result of a call, directly or after further computation."""
    return isinstance(statement.node, (ast.Assign, ast.AnnAssign)) and call in statement.calls


def _exchanged(point: Point, call: ast.Call) -> str | None:
    """The name of the tensor or the list that one of Paddle's collectives fills in place."""
    if not _is_collective(point.file, call) or not isinstance(point.statement.node, ast.Expr):
        return None
    given = list(arguments_of(call))
    return dotted(given[0]) if given else None


def _is_collective(file: FileIndex, call: ast.Call) -> bool:
    if terminal(call) not in COLLECTIVES:
        return False
    return file.names.qualified(call.func).startswith(DISTRIBUTED)


_MOST_FUNCTIONS = 30
"""How many functions that a call leads to are looked at."""


def _exchanges(at: Place, call: ast.Call) -> bool:
    """Whether a call reaches a function of the project that does a collective and returns the result."""
    found = _called(at, call)
    return found is not None and found.scope is not at.scope and _makes_collective(found)


def _called(at: Place, call: ast.Call) -> Place | None:
    return CallGraph.of(at.file.project).called(at, call.func)


@query
def _makes_collective(at: Place) -> bool:
    """Whether a function, or one that it calls, exchanges its argument, and does not train: ``reduce_mean(tensor)``."""
    waiting, seen = [at], {at.scope}
    while waiting and len(seen) < _MOST_FUNCTIONS:
        there = waiting.pop()
        calls, nodes = list(there.scope.calls), [each.node for each in there.scope.statements]
        returns = any(isinstance(node, ast.Return) and node.value is not None for node in nodes)
        if not returns or any(terminal(call) in ("backward", "step", "minimize") for call in calls):
            continue
        if any(_is_collective(there.file, call) for call in calls):
            return True
        found = [reached for call in calls if (reached := _called(there, call)) is not None]
        waiting += [reached for reached in found if reached.scope not in seen]
        seen.update(reached.scope for reached in found)
    return False


# PPF804: all ranks exchange a value at each step that only log lines show.

RULE = shipped()["PPF804"]


def _only_logged_at(point: Point) -> Iterator[ast.Call]:
    return (call for call in point.statement.calls if only_logged(point, call))


@rule(RULE.code, at=At.STEP, find_at=_only_logged_at, claims=False)
def logged_collective(call: ast.Call, context: Context) -> None:
    """Report a collective at each step whose result only log lines show."""
    context.report(RULE.words("log"))
