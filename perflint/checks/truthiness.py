"""PPF203: a decision of Python on a device tensor at each step."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

import libcst as cst

from perflint.checks import truth_fix
from perflint.checks.single_tensor import Evidence
from perflint.findings import Confidence
from perflint.index.kinds import Kind
from perflint.lint.context import Context
from perflint.lint.registry import check, forward_decisions, step_gate
from perflint.syntax import decisions
from perflint.syntax.names import dotted
from perflint.syntax.scopes import Class, Scope, terminal
from perflint.syntax.tree import walk
from perflint.syntax.vocabulary import decodes, predicts, sets_up
from perflint.training.clues import MATH, PICKS
from perflint.training.steps import Point, Step, of_point

CODE = "PPF203"
_MATH = frozenset(f"math.{name}" for name in MATH)
_INSIDE = PICKS | MATH
# Calls that turn a tensor into a number or a truth value: a forward pass without one certainly decides on nothing.
_CERTAIN = frozenset(
    {"any", "all", "isnan", "isfinite", "isinf", "sum", "mean", "max", "min", "equal_all", "allclose", "count_nonzero"}
)
forward_decisions[CODE] |= _CERTAIN


@check("Name")
@check("Attribute")
@check("Subscript")
@check("Call")
@check("Comparison")
@check("BinaryOperation")
@check("UnaryOperation")
def decision(node: cst.BaseExpression, context: Context) -> None:
    """Report a tensor whose truth Python tests, directly or inside ``max``, ``in`` and the like."""
    asked = _is_asked(node, context.parents)
    if not asked and not isinstance(node, (cst.Call, cst.Comparison)):
        return
    step, point = context.hot, context.point
    if step is None or point is None or context.claimed:
        return
    expression = context.expression(node)
    if expression is None:
        return
    kind, evidence = _read_by(point, expression, asked), Evidence(point)
    confidence = _confidence(kind, expression, step, point, evidence) if kind is not None else None
    if confidence is None or _never_asked(node, point, context, evidence):
        return
    if step.forward and any(evidence.is_handed_over(test) for test in _conditions(node, context, point)):
        confidence = Confidence.LOW  # for a forward pass, it is unknown whether callers pass the optional argument
    if step.forward and any(map(_asks_for_dtype, _conditions(node, context, point))):
        confidence = Confidence.LOW  # usually float16, which most programs do not train in
    fix = truth_fix.fix(node, expression, context)
    message = truth_fix.FILTER_MESSAGE if truth_fix.is_filter(node, context) else ""
    if truth_fix.asks_for_presence(expression, point):
        message = truth_fix.PRESENCE_MESSAGE
    said = truth_fix.advice(node, expression, context)
    context.report(CODE, node, fix, step, confidence=confidence, message=message, advice=said)


@step_gate(CODE)
def _may_match(point: Point) -> bool:
    """Whether a statement may contain a decision on a tensor, even if a guard makes it rare."""
    return any(
        (asked or not isinstance(expression, ast.Call) or not _takes_as_it_is(expression))
        and _read_by(point, expression, asked) is not None
        for expression, asked in decisions.candidates(point.statement.node)
    )


def _takes_as_it_is(call: ast.Call) -> bool:
    """Whether a call certainly tests the truth of nothing: ``x.f(...)`` for another ``f`` than those that do."""
    return isinstance(call.func, ast.Attribute) and call.func.attr not in _INSIDE


def _is_asked(node: cst.CSTNode, parents: Sequence[cst.CSTNode]) -> bool:
    """Whether the truth of a node is tested at its place."""
    inner = node
    for index in range(len(parents) - 1, -1, -1):
        parent = parents[index]
        if isinstance(parent, (cst.If, cst.While, cst.Assert, cst.IfExp, cst.CompIf)):
            return inner is parent.test
        if isinstance(parent, cst.BooleanOperation):
            if inner is parent.left:
                return True
        elif isinstance(parent, cst.UnaryOperation):
            return isinstance(parent.operator, cst.Not)
        elif isinstance(parent, (cst.GeneratorExp, cst.ListComp)):
            return inner is parent.elt and _is_quantified(parents[:index])
        elif not (isinstance(parent, cst.NamedExpr) and inner is parent.value):
            return False
        inner = parent
    return False


def _is_quantified(parents: Sequence[cst.CSTNode]) -> bool:
    call = parents[-2] if isinstance(parents[-1], cst.Arg) else None
    return isinstance(call, cst.Call) and isinstance(call.func, cst.Name) and call.func.value in decisions.QUANTIFIERS


def _asked_before(node: cst.CSTNode, context: Context) -> Iterator[tuple[ast.expr, bool]]:
    """The operands to the left of a node in the same test, each with whether it has to be true (``and``)."""
    for parent, inner in context.around(node):
        if isinstance(parent, cst.BooleanOperation):
            left = context.expression(parent.left) if inner is parent.right else None
            if left is not None:
                yield left, isinstance(parent.operator, cst.And)
        elif not isinstance(parent, cst.UnaryOperation):
            return


def _never_asked(node: cst.CSTNode, point: Point, context: Context, evidence: Evidence) -> bool:
    """Whether an operand to the left in the same test is already reported, or is off by default."""
    return any(
        _read_by(point, decisions.leaf(item), True) is not None or (must_hold and evidence.is_off(item))
        for left, must_hold in _asked_before(node, context)
        for item in decisions.operands(left)
    )


def _conditions(node: cst.CSTNode, context: Context, point: Point) -> Iterator[ast.expr]:
    """The conditions for a decision: the tests around its statement, and earlier operands of ``and``."""
    for test in point.statement.tests:
        yield from decisions.required(test)
    for left, must_hold in _asked_before(node, context):
        if must_hold:
            yield from decisions.required(left)


def _asks_for_dtype(test: ast.expr) -> bool:
    """Whether a test is like ``x.dtype == paddle.float16``."""
    return isinstance(test, ast.Compare) and any(
        isinstance(side, ast.Attribute) and side.attr == "dtype" for side in (test.left, *test.comparators)
    )


@of_point
def _read_by(point: Point, node: ast.expr, asked: bool) -> Kind | None:
    """The kind of the tensor that a decision reads."""
    evidence = Evidence(point)
    if isinstance(node, ast.Call):
        kind = _inside_call(node, evidence)
        if kind is not None:
            return kind
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.In, ast.NotIn)):
        return _member(node, evidence)
    return evidence.tensor(node) if asked else None


def _inside_call(call: ast.Call, evidence: Evidence) -> Kind | None:
    """What ``max(t1, t2)``, ``sorted([...])`` or ``math.isnan(t)`` tests of a tensor."""
    name = evidence.builtin(call.func)
    if name in _MATH and len(call.args) == 1:
        return evidence.operand(call.args[0])
    if name not in PICKS or call.keywords or not call.args:
        return None
    if len(call.args) == 1:
        return evidence.item(call.args[0])
    kinds = [evidence.operand(argument) for argument in call.args]
    return next((kind for kind in kinds if kind is not None), None)


def _member(node: ast.Compare, evidence: Evidence) -> Kind | None:
    """``tensor in [...]``: only a list or a tuple compares its items one by one, a dict or a set uses the hash."""
    kind = evidence.tensor(node.left)
    within = evidence.bound(node.comparators[0])
    return kind if isinstance(within, (ast.List, ast.Tuple, ast.ListComp)) else None


def _confidence(kind: Kind, node: ast.expr, step: Step, point: Point, evidence: Evidence) -> Confidence | None:
    """How certain a decision is on a device tensor, in training; None if it is not certain enough."""
    scope = point.scope
    if sets_up(scope.name):
        return None
    if not step.forward:
        return Confidence.MEDIUM if kind.guess else Confidence.HIGH
    if scope.owner is None or _only_predicts(scope.owner, scope):
        return None
    # In a forward pass the arguments are tensors only by convention, so a call has to show it.
    picks = isinstance(node, ast.Call) and dotted(node.func) in PICKS
    calls = (item for part in evidence.sources(node) for item in walk(part) if isinstance(item, ast.Call))
    if any(_is_certain(call, evidence) for call in calls if not (picks and call is node)):
        return Confidence.LOW if kind.guess and not _reduces(node, evidence) else Confidence.MEDIUM
    return Confidence.LOW if picks and not kind.guess else None


def _only_predicts(owner: Class, forward: Scope) -> bool:
    """Whether a forward pass selects results, or searches for the best sequence, as in prediction."""
    names = (owner.name, forward.name)
    return any(decodes(name) or predicts(name) for name in names) or any("beam" in name for name in owner.attributes)


def _reduces(node: ast.expr, evidence: Evidence) -> bool:
    """Whether a decision itself calls a method such as ``mask.any()``, which numbers and lists do not have."""
    return any(
        isinstance(item, ast.Call)
        and isinstance(item.func, ast.Attribute)
        and evidence.kind(item.func.value).is_tensor
        and _is_certain(item, evidence)
        for item in walk(node)
    )


def _is_certain(call: ast.Call, evidence: Evidence) -> bool:
    return terminal(call) in _CERTAIN and evidence.kind(call).is_tensor
