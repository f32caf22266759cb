"""PPF802: all ranks exchange gradients after each backward pass, although the optimizer steps only after several."""

from __future__ import annotations

import ast
from collections.abc import Sequence

import libcst as cst

from perflint import catalogue
from perflint.checks.edits import indentation
from perflint.checks.entry_advice import put_under, rows_of_their_own
from perflint.checks.spelled import paddle_at, spelling
from perflint.facts.entry_points import forward_of
from perflint.facts.partial_gradients import PartialGradients, partial_gradients
from perflint.findings import Confidence, Fix, Level, Related
from perflint.lint.context import Context
from perflint.lint.registry import step_check, step_gate
from perflint.syntax.bindings import bound_by
from perflint.syntax.names import dotted_names
from perflint.syntax.scopes import Statement, terminal
from perflint.syntax.tree import walk
from perflint.training.steps import Point, Step

CODE = "PPF802"
_NAME = "is_partial"
_ELSEWHERE = (
    "forward and backward pass of the steps that do not update go under `with model.no_sync():`, both of them: "
    "the forward pass decides whether gradients are exchanged, so with only the backward pass under it nothing "
    "changes"
)


@step_gate(CODE)
def _accumulates(point: Point) -> bool:
    is_step = point.step is not None and not point.step.forward
    return is_step and any(partial_gradients(point, call) for call in point.statement.calls)


@step_check("Call")
def partial_sums(call: cst.Call, context: Context, step: Step) -> None:
    """Report a backward pass that exchanges gradients before they are complete."""
    point = context.point
    node = context.expression(call) if CODE in context.codes and point is not None else None
    found = partial_gradients(point, node) if point is not None and isinstance(node, ast.Call) else None
    if found is None or point is None or not isinstance(node, ast.Call):
        return
    wrapper = Related(found.wrapped_in.path, found.wrapped_in.row(found.wrapper), "the model is wrapped here")
    test = ast.unparse(found.test)
    fix = _fix(point, node, found)
    context.report(CODE, call, fix, step, related=(wrapper,), confidence=Confidence.MEDIUM, claims=False, test=test)


def _fix(point: Point, call: ast.Call, found: PartialGradients) -> Fix:
    """Both passes under ``no_sync()``, if they follow each other; otherwise words on how to write it."""
    rule = catalogue.shipped()[CODE]
    forward, models = forward_of(point.file, point.scope, point.statement, call)
    nodes = _both_passes(point.statement, forward)
    paddle = paddle_at(point.statement.node, point.file)
    idle = spelling("contextlib.nullcontext", point.statement.node, point.file)
    if (
        paddle is None
        or idle is None
        or len(models) != 1
        or not nodes
        or not _is_known_before(found.test, nodes, point)
    ):
        return Fix(rule.fix_title, (), Level.DISPLAY, _ELSEWHERE)
    source = point.file.source
    condition = f"{_NAME} = {_negated(found.test)} and isinstance({models[0]}, {paddle}.DataParallel)"
    header = f"{condition}{source.newline}{indentation(source, nodes[0].lineno)}"
    header += f"with {models[0]}.no_sync() if {_NAME} else {idle.name}():"
    edits = tuple(put_under(source, nodes, header, point.scope, point.statement))
    return idle.trusted(Fix(rule.fix_title, edits, rule.fix_level, rule.fix_reason, idle.imports))


def _both_passes(backward: Statement, forward: Sequence[ast.stmt]) -> Sequence[ast.stmt]:
    """The neighbouring statements from the first one of a forward pass to the one with the backward pass."""
    outer = backward.node
    for link in backward.around:
        block = link.block
        if forward and forward[0] in block and outer in block:
            return block[block.index(forward[0]) : block.index(outer) + 1]
        if link.branch != "after":
            outer = link.node
    return ()


def _is_known_before(test: ast.expr, nodes: Sequence[ast.stmt], point: Point) -> bool:
    """Whether a test may be evaluated before some statements: nothing in them, or below them, changes its names.

    Also, there must be no other backward pass outside of these statements.
    """
    inside = {item for node in nodes for item in ast.walk(node)}
    statements = point.scope.statements_in(point.loop) if point.loop is not None else point.scope.statements
    below = [each for each in statements if each.start >= (nodes[0].lineno, nodes[0].col_offset)]
    asked = dotted_names(test)
    if any(not asked.isdisjoint(bound_by(each.node)) for each in below):
        return False
    if any(isinstance(item, ast.Call) and terminal(item) != "len" for item in walk(test)):
        return False
    passes = [each for each in statements if any(terminal(call) == "backward" for call in each.calls)]
    is_free = not point.file.has_words(_NAME) and rows_of_their_own(nodes, point.scope.node)
    return is_free and all(each.node in inside for each in passes)


def _negated(test: ast.expr) -> str:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _in_and(test.operand)
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Eq) and len(test.ops) == 1:
        return ast.unparse(ast.Compare(test.left, [ast.NotEq()], test.comparators))
    return f"not ({ast.unparse(test)})"


def _in_and(test: ast.expr) -> str:
    text = ast.unparse(test)
    return f"({text})" if isinstance(test, (ast.BoolOp, ast.IfExp, ast.Lambda, ast.NamedExpr)) else text
