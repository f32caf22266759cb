"""PPF802: all ranks exchange gradients after each backward pass, although only the last needs it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from perflint.catalogue import shipped
from perflint.facts.entry_points import forward_of
from perflint.facts.programs import files_with
from perflint.findings import Confidence, Fix, Related
from perflint.flow.known_values import Known
from perflint.index.project import FileIndex
from perflint.lint.context import Context
from perflint.lint.registry import At, calls_with, rule
from perflint.query import query
from perflint.rules.edits import indentation, put_under
from perflint.rules.entry_advice import rows_of_their_own
from perflint.rules.spelled import paddle_at, spelling
from perflint.syntax.bindings import bound_by
from perflint.syntax.names import dotted, dotted_names, names_in
from perflint.syntax.parameters import arguments_of
from perflint.syntax.scopes import Link, Statement, terminal
from perflint.syntax.tree import calls_in, is_literal, walk
from perflint.syntax.vocabulary import means_accumulation, means_epoch, means_model
from perflint.training.counting import as_remainder, remainder_of
from perflint.training.evidence import CLEARS, scales_loss, takes_optimizer_step
from perflint.training.steps import Point, of_point

# Gradients that several backward passes accumulate, but that all ranks exchange after each pass.
#
# ``if (step + 1) % k == 0: optimizer.step()`` uses the gradients of ``k`` passes. A model in ``paddle.DataParallel``
# exchanges them after each of these, except for those whose forward pass runs under ``model.no_sync()``.

WRAPPERS = ("DataParallel", "distributed_model")
_FLEET = "paddle.distributed.fleet.distributed_model"
_WRAPPERS = frozenset({"paddle.DataParallel", "paddle.distributed.parallel.DataParallel", _FLEET})
_BY_HAND = ("no_sync", "fused_allreduce_gradients", "apply_collective_grads")
_OTHER_WAYS = ("hybrid_configs", "pipeline_configs", "sharding_configs", "group_sharded_parallel", "gradient_merge")
"""Words of programs in which ``fleet`` does more than data parallelism."""
_EXCHANGES = re.compile(rf"^[^#\n]*\.(?:{'|'.join(_BY_HAND)})\b", re.MULTILINE)
_MORE = re.compile(rf"^[^#\n]*\b(?:{'|'.join(_OTHER_WAYS)})\b", re.MULTILINE)


class PartialGradients(NamedTuple):
    """A backward pass whose gradients are accumulated with those of others.

    ``test``: if it is true, the optimizer steps. ``wrapper``: the call that wraps the model, in ``wrapped_in``.
    """

    test: ast.expr
    wrapper: ast.Call
    wrapped_in: FileIndex


@of_point
def partial_gradients(point: Point, call: ast.Call) -> PartialGradients | None:
    """The facts about a backward pass that exchanges gradients before they are complete; None for others."""
    file = point.file
    if not _goes_back(call) or file.is_static or not file.project.mentions.of(*WRAPPERS):
        return None
    test = _accumulation(point, call) if not _goes_around(point, call) else None
    wrapper = _wrapper(file) if test is not None else None
    return PartialGradients(test, *wrapper) if test is not None and wrapper is not None else None


def _goes_around(point: Point, call: ast.Call) -> bool:
    """Whether a forward pass calls methods of the model that the wrapper lacks: ``model.training_loss(x)``."""
    forward, models = forward_of(point.function, point.statement, call)
    called = (dotted(call.func) for node in forward for call in calls_in(node))
    methods = [name for name in called if name and _is_method_of_model(name)]
    return bool(methods) and all(map(_is_method_of_model, models))


def _is_method_of_model(name: str) -> bool:
    owner, _, last = name.rpartition(".")
    return last != "forward" and means_model(owner.rpartition(".")[2])


def _goes_back(call: ast.Call) -> bool:
    return (terminal(call) == "backward" and isinstance(call.func, ast.Attribute)) or scales_loss(call)


@query
def _wrapper(file: FileIndex) -> tuple[ast.Call, FileIndex] | None:
    """The call by which a program that loads a file trains on several ranks; None if it handles gradients itself."""
    mentions, program = file.project.mentions, files_with(file)
    if any(other in program and other.matches(_EXCHANGES) for other in mentions.of(*_BY_HAND)):
        return None
    others = (other for other in mentions.of(*WRAPPERS) if other in program and not other.is_quiet)
    found = [(call, other, name) for other in others for call, name in _wrappings(other)]
    by_fleet = any(name == _FLEET for _, _, name in found)
    if by_fleet and any(other in program and other.matches(_MORE) for other in mentions.of(*_OTHER_WAYS)):
        return None
    return next(((call, other) for call, other, _ in found), None)


def _wrappings(file: FileIndex) -> Iterator[tuple[ast.Call, str]]:
    for last in WRAPPERS:
        for _, _, call in file.calls_named(last):
            name = file.names.qualified(call.func)
            if name in _WRAPPERS:
                yield call, name


def _accumulation(point: Point, call: ast.Call) -> ast.expr | None:
    """The test of the steps on which the optimizer uses the accumulated gradients."""
    inside = _pass(point)
    told = _handed_test(call) if scales_loss(call) else None
    if told is not None:
        return told if _is_first(point.statement, inside) else None
    if scales_loss(call) or not _is_first(point.statement, inside):
        return None
    tests = [_test_around(point, each) for each in inside if any(map(takes_optimizer_step, each.calls))]
    cleared = (each for each in inside if any(terminal(one) in CLEARS for one in each.calls))
    if not tests or any(_test_around(point, each) is None for each in cleared):
        return None
    return tests[0] if all(test is not None for test in tests) else None


def _pass(point: Point) -> Sequence[Statement]:
    """The statements of a function in its step loop; all of them if the loop is elsewhere."""
    return point.scope.statements_in(point.loop) if point.loop is not None else point.scope.statements


def _is_first(statement: Statement, inside: Sequence[Statement]) -> bool:
    """Whether a backward pass is the first of a step, and any others are in other branches."""
    others = [each for each in inside if each is not statement and any(map(_goes_back, each.calls))]
    return all(each.start > statement.start and _are_apart(each, statement) for each in others)


def _are_apart(one: Statement, other: Statement) -> bool:
    """Whether two statements are in different branches of one ``if``."""
    branches: dict[ast.stmt, str] = {link.node: link.branch for link in other.around if isinstance(link.node, ast.If)}
    return any(branches.get(link.node, link.branch) != link.branch for link in one.around)


def _handed_test(call: ast.Call) -> ast.expr | None:
    """The test passed to a helper: ``scaler(loss, optimizer, update_grad=(step + 1) % k == 0)``."""
    for value in arguments_of(call):
        if any(_accumulates(found) for found in map(as_remainder, _expressions(value)) if found is not None):
            return value
    return None


def _expressions(node: ast.expr) -> Iterator[ast.expr]:
    return (item for item in walk(node) if isinstance(item, ast.expr))


def _accumulates(remainder: ast.BinOp) -> bool:
    return any(map(means_accumulation, names_in(remainder.right)))


def _test_around(point: Point, statement: Statement) -> ast.expr | None:
    """The test of a remainder of the steps around a statement, but not around the backward pass."""
    around_pass = point.statement.branches
    for link in statement.around:
        if link.node is point.loop:
            return None
        if (link.node, link.branch) not in around_pass and _spaces_passes(link, point):
            assert isinstance(link.node, ast.If)
            return link.node.test if link.branch == "body" else ast.UnaryOp(ast.Not(), link.node.test)
    return None


def _spaces_passes(link: Link, point: Point) -> bool:
    if not isinstance(link.node, ast.If):
        return False
    definitions = Known(point.function)
    remainders = (remainder_of(item, definitions) for item in _expressions(link.node.test))
    return any(found is not None and _counts_passes(found, definitions) for found in remainders)


def _counts_passes(remainder: ast.BinOp, definitions: Known) -> bool:
    """Whether a remainder is that of a step count, with a divisor that is not always 1."""
    counted = [name for name in names_in(remainder.left) if name != "self"]
    if not counted or any(map(means_epoch, counted)):
        return False
    name = dotted(remainder.right)
    return not is_literal(definitions.get(name, remainder.right) if name else remainder.right, 1)


# PPF802: all ranks exchange gradients after each backward pass, although the optimizer steps only after several.

RULE = shipped()["PPF802"]
_NAME = "is_partial"


@rule(RULE.code, at=At.STEP, find_at=calls_with(partial_gradients), claims=False)
def partial_sums(found: PartialGradients, context: Context) -> None:
    """Report a backward pass that exchanges gradients before they are complete."""
    assert isinstance(context.node, ast.Call)
    wrapper = Related(found.wrapped_in.path, found.wrapped_in.row(found.wrapper), "the model is wrapped here")
    fix = _fix(context.here, context.node, found)
    context.report(fix, related=(wrapper,), confidence=Confidence.MEDIUM, test=ast.unparse(found.test))


def _fix(point: Point, call: ast.Call, found: PartialGradients) -> Fix:
    """Both passes under ``no_sync()``, if they follow each other; otherwise words on how to write it."""
    forward, models = forward_of(point.function, point.statement, call)
    nodes = _both_passes(point.statement, forward)
    paddle = paddle_at(point.statement.node, point.file)
    idle = spelling("contextlib.nullcontext", point.statement.node, point.file)
    is_known = paddle is not None and idle is not None and len(models) == 1
    if not is_known or idle is None or not nodes or not _is_known_before(found.test, nodes, point):
        return RULE.words("elsewhere")
    source = point.file.source
    condition = f"{_NAME} = {_negated(found.test)} and isinstance({models[0]}, {paddle}.DataParallel)"
    header = f"{condition}{source.newline}{indentation(source, nodes[0].lineno)}"
    header += f"with {models[0]}.no_sync() if {_NAME} else {idle.name}():"
    return idle.trusted(RULE.fix(put_under(header, (nodes[0], nodes[-1]), point.scope, point.statement, source)))


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
    statements = _pass(point)
    below = [each for each in statements if each.start >= (nodes[0].lineno, nodes[0].col_offset)]
    asked = dotted_names(test)
    if any(not asked.isdisjoint(bound_by(each.node)) for each in below):
        return False
    if any(terminal(call) != "len" for call in calls_in(test)):
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
