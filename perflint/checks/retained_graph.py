"""PPF507: a backward pass that keeps the graph of its step, although nothing uses it again."""

from __future__ import annotations

import ast

import libcst as cst

from perflint.checks.arguments import find_argument
from perflint.facts.spent_graphs import is_spent
from perflint.findings import Edit, Fix, Level
from perflint.lint.context import Context, method_of, shorten
from perflint.lint.registry import step_check, step_gate
from perflint.text.source import spans_rows
from perflint.training.steps import Point, Step

CODE = "PPF507"
_PARAMETER, _POSITION = "retain_graph", 1
_TITLE = "let the backward pass free the graph"
_REASON = (
    "where a layer keeps a value with its graph from one step to the next, the next backward pass needs this graph, "
    "and fails without it"
)


def _retains(point: Point) -> bool:
    return any(_is_retaining(call) for call in point.statement.calls) and is_spent(point)


def _is_retaining(call: ast.Call) -> bool:
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "backward":
        return False
    given = [keyword.value for keyword in call.keywords if keyword.arg == _PARAMETER]
    given += call.args[_POSITION : _POSITION + 1]
    return any(isinstance(value, ast.Constant) and value.value is True for value in given)


step_gate(CODE)(_retains)


@step_check("Call")
def retained_graph(call: cst.Call, context: Context, step: Step) -> None:
    """Report a backward pass with ``retain_graph=True`` after which no other one uses the graph."""
    point = context.point
    node = context.expression(call) if method_of(call) == "backward" else None
    if point is None or not isinstance(node, ast.Call) or not _is_retaining(node) or not is_spent(point):
        return
    argument = find_argument(call, _PARAMETER, _POSITION)
    if argument is not None:
        context.report(CODE, argument, _fix(call, argument, context), step, what=shorten(context.text(call)))


def _fix(call: cst.Call, argument: cst.Arg, context: Context) -> Fix:
    if argument is call.args[-1] and not spans_rows(context.text(call)):
        before = [other for other in call.args if other is not argument]
        start = context.range(before[-1])[1] if before else context.range(argument)[0]
        edit = Edit(start, context.range(call)[1] - 1, "")
    else:
        edit = Edit(*context.range(argument.value), "False")
    return Fix(_TITLE, (edit,), Level.UNSAFE, _REASON)
