"""PPF107: a loader, or its iterator with its workers, created again at each step."""

from __future__ import annotations

import ast

import libcst as cst

from perflint.findings import Confidence, Edit, Fix, Level
from perflint.index.kinds import LOADER_TAG
from perflint.lint.context import Context, local_name
from perflint.lint.registry import gate, step_check, step_triggers
from perflint.rules.edits import indentation
from perflint.rules.spelled import spelling
from perflint.syntax.bindings import bound_by
from perflint.syntax.names import dotted, dotted_names
from perflint.training.steps import Point, Step

CODE = "PPF107"
LOADER = "paddle.io.DataLoader"
_REBUILT = (
    "`{what}` builds a loader at {where}, with its sampler and its workers, and the arguments are the same each time; "
    "build it once before the loop."
)
_TITLE = "take the batches from one iterator that is created before the loop"
_REASON = (
    "the loop then sees all batches in turn, instead of the first one of a new epoch each time; if the loader "
    "has no batch at all, `next` never returns, instead of raising StopIteration"
)
_BY_HAND = "create the iterator before the loop, and a new one when it is exhausted"
_BUILD_ONCE = Fix("build the loader once, before the loop", (), Level.DISPLAY, "you have to decide where to build it")


step_triggers[CODE].add("iter")
gate(CODE, LOADER)


@step_check("Call")
def loader_rebuilt(call: cst.Call, context: Context, step: Step) -> None:
    """Report ``next(iter(loader))``, ``it = iter(loader)`` and ``DataLoader(...)`` at each step."""
    point = context.here
    if context.callee(call) == LOADER:
        expression = context.expression(call)
        if expression is not None and point.loop is not None and not _changes(expression, point):
            context.report(CODE, call, _BUILD_ONCE, step, claims=False, message=_REBUILT)
        return
    if not _is_builtin("iter", call, context) or len(call.args) != 1:
        return
    loader = call.args[0].value
    expression = context.expression(loader)
    if context.kind(loader).tag != LOADER_TAG or expression is None or _changes(expression, point):
        return
    drawn = _drawn(context)
    if drawn is None and not _is_drawn_from(call, point, context):
        return
    known = point.full_env.get(dotted(expression) or "")
    confidence = Confidence.HIGH if known is not None and known.tag == LOADER_TAG else Confidence.MEDIUM
    context.report(CODE, drawn or call, _fix(call, drawn, point, context), step, confidence=confidence, claims=False)


def _is_builtin(name: str, call: cst.Call, context: Context) -> bool:
    return isinstance(call.func, cst.Name) and call.func.value == name and not context.file.names.is_bound(name)


def _drawn(context: Context) -> cst.Call | None:
    """The ``next(...)`` around the current node."""
    if len(context.parents) < 2 or not isinstance(context.parents[-1], cst.Arg):
        return None
    outer = context.parents[-2]
    return outer if isinstance(outer, cst.Call) and _is_builtin("next", outer, context) else None


def _is_drawn_from(call: cst.Call, point: Point, context: Context) -> bool:
    """Whether ``it = iter(loader)`` is used for one ``next(it)`` each time: no separate loop draws from it."""
    statement, place = context.statement, point.statement
    if not isinstance(statement, cst.Assign) or statement.value is not call:
        return False
    names = bound_by(place.node)
    return any(
        isinstance(other.func, ast.Name) and other.func.id == "next" and other.args and dotted(other.args[0]) in names
        for near in point.scope.statements
        if near.loop is place.loop
        for other in near.calls
    )


def _changes(expression: ast.expr, point: Point) -> bool:
    """Whether an expression contains a name that the loop, or its function, binds: another loader each time."""
    loop, bound = point.loop, set[str]()
    for statement in point.scope.statements:
        if loop is None or statement.node is loop or statement.is_in(loop):
            bound.update(bound_by(statement.node))
            for item in getattr(statement.node, "items", ()):
                bound |= dotted_names(item.optional_vars or ast.Constant(None))
    return not bound.isdisjoint(dotted_names(expression))


def _fix(call: cst.Call, drawn: cst.Call | None, point: Point, context: Context) -> Fix:
    loader = local_name(call.args[0].value)
    name = f"{loader.rpartition('.')[2]}_batches"
    count = spelling("itertools.count", point.statement.node, context.file)
    if (
        count is None
        or drawn is None
        or not loader
        or point.loop is None
        or len(drawn.args) != 1
        or name in context.file.identifiers
    ):
        return Fix(_TITLE, (), Level.DISPLAY, _BY_HAND)
    source = context.file.source
    start = source.lines.line_start(point.loop.lineno)
    text = f"{name} = (batch for _ in {count.name}() for batch in {loader})"
    line = f"{indentation(source, point.loop.lineno)}{text}{source.newline}"
    edits = (Edit(start, start, line), Edit(*context.range(call), name))
    return count.trusted(Fix(_TITLE, edits, Level.UNSAFE, _REASON, count.imports))
