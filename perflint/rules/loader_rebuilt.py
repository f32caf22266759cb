"""PPF107: a loader, or its iterator with its workers, created again at each step."""

from __future__ import annotations

import ast

from perflint.catalogue import shipped
from perflint.findings import Confidence, Fix, Level
from perflint.index.kinds import LOADER_TAG
from perflint.lint.context import Context
from perflint.lint.registry import At, named, rule
from perflint.rules.edits import insert_row_above
from perflint.rules.spelled import spelling
from perflint.syntax.bindings import bound_by
from perflint.syntax.names import dotted, dotted_names
from perflint.training.steps import Point

RULE = shipped()["PPF107"]
LOADER = "paddle.io.DataLoader"


@rule(RULE.code, at=At.STEP, calls=["iter"], names=named(LOADER, code=RULE.code), claims=False)
def loader_rebuilt(call: ast.Call, context: Context) -> None:
    """Report ``next(iter(loader))``, ``it = iter(loader)`` and ``DataLoader(...)`` at each step."""
    point = context.here
    if context.callee(call) == LOADER:
        if point.loop is not None and not _changes(call, point):
            context.report(RULE.words("rebuilt"), message=RULE.texts["rebuilt"])
        return
    if not _is_builtin("iter", call, context) or len(call.args) != 1 or call.keywords:
        return
    loader = call.args[0]
    if context.kind(loader).tag != LOADER_TAG or _changes(loader, point):
        return
    drawn = _drawn(call, context)
    if drawn is None and not _is_drawn_from(call, point):
        return
    known = point.full_env.get(dotted(loader) or "")
    confidence = Confidence.HIGH if known is not None and known.tag == LOADER_TAG else Confidence.MEDIUM
    context.report(_fix(call, drawn, point, context), drawn or call, confidence=confidence)


def _is_builtin(name: str, call: ast.Call, context: Context) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id == name and not context.file.names.is_bound(name)


def _drawn(call: ast.Call, context: Context) -> ast.Call | None:
    """The ``next(...)`` around a call."""
    outer = context.parent(call)
    is_argument = isinstance(outer, ast.Call) and call in outer.args
    return outer if isinstance(outer, ast.Call) and is_argument and _is_builtin("next", outer, context) else None


def _is_drawn_from(call: ast.Call, point: Point) -> bool:
    """Whether ``it = iter(loader)`` is used for one ``next(it)`` each time: no separate loop draws from it."""
    place = point.statement
    if not isinstance(place.node, ast.Assign) or place.node.value is not call:
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


def _fix(call: ast.Call, drawn: ast.Call | None, point: Point, context: Context) -> Fix:
    loader = dotted(call.args[0]) or ""
    name = f"{loader.rpartition('.')[2]}_batches"
    count = spelling("itertools.count", point.statement.node, context.file)
    if (
        count is None
        or drawn is None
        or not loader
        or point.loop is None
        or len(drawn.args) + len(drawn.keywords) != 1
        or name in context.file.identifiers
    ):
        return RULE.words("by hand")
    line = f"{name} = (batch for _ in {count.name}() for batch in {loader})"
    edits = (insert_row_above(context.file.source, point.loop, line), *context.instead(call, name))
    return count.trusted(RULE.fix(edits, Level.UNSAFE, RULE.texts["reason"]))
