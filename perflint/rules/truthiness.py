"""PPF203: a decision of Python on a device tensor at each step."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace

from perflint.catalogue import shipped
from perflint.facts.effects import effect_at
from perflint.facts.usages import Usage
from perflint.facts.waits import (
    asks_an_item,
    ends_a_loop_inside,
    is_a_result,
    looked_up_in_a_list,
    picks_in_a_branch,
)
from perflint.findings import Confidence, Edit, Fix, Level
from perflint.index.kinds import Kind
from perflint.lint.context import Context
from perflint.lint.registry import At, rule
from perflint.rules.edits import has_own_rows, only_calls
from perflint.rules.excuses import is_trained
from perflint.rules.guard import counter_here
from perflint.rules.read_advice import aims_of
from perflint.rules.spelled import paddle_at
from perflint.rules.tensor_reads import Evidence
from perflint.syntax import scopes
from perflint.syntax.bindings import bindings_of, plain_assignment
from perflint.syntax.names import dotted, plain_names
from perflint.syntax.parameters import arguments_of, is_none
from perflint.syntax.scopes import Class, Scope, terminal
from perflint.syntax.tree import calls_in, string_of, walk
from perflint.syntax.vocabulary import LOGGING, decodes, predicts, sets_up
from perflint.training.clues import MATH, PICKS
from perflint.training.steps import Point, Step, of_point

_DECIDING = (ast.If, ast.While, ast.Assert, ast.IfExp)

# The fixes shown for a decision on a tensor: none is applied, since the user has to choose.

_NOT_FINITE = frozenset({"isnan", "isfinite", "isinf"})
RULE = shipped()["PPF203"]
_HARDLY = 1e-2
_MAKING = frozenset({"zeros", "ones", "full", "to_tensor"})
_SAYS = LOGGING | {"warn", "warn_explicit"}
_NOTHING = (None, 0, False, "")
_Choice = tuple[ast.expr, ast.expr]


def is_filter(node: ast.expr, context: Context) -> bool:
    """Whether a decision is the filter of a comprehension: ``[x for x in xs if mask[x]]``."""
    return isinstance(_owner(node, context)[0], ast.comprehension)


def asks_for_presence(expression: ast.expr, point: Point) -> bool:
    """Whether the test is a plain name that is ``None``, ``[]`` or 0 elsewhere in the function."""
    name = dotted(expression)
    return name is not None and any(
        isinstance(statement.node, ast.Assign) and _is_nothing(statement.node.value)
        for statement in bindings_of(point.scope).get(name, ())
    )


def _is_nothing(value: ast.expr) -> bool:
    if isinstance(value, (ast.List, ast.Tuple)):
        return not value.elts
    if isinstance(value, ast.Dict):
        return not value.keys
    return isinstance(value, ast.Constant) and value.value in _NOTHING


def instead(node: ast.expr, context: Context) -> tuple[Fix, str]:
    """What to do instead: the fix, and a clause for the message. Both depend on what the branch does."""
    point = context.here
    picked = _pick(node, context)
    if picked is not None:
        is_size = any(aim.usage is Usage.SIZE for aim in aims_of(node, context))
        return picked, RULE.texts["size"] if is_size else picked.message
    if _gives_none(node, point):
        return RULE.words("drops a value"), RULE.texts["none"]
    if picks_in_a_branch(point, node):
        return RULE.words("selects by it"), RULE.texts["mask"]
    if asks_an_item(point, node):
        return RULE.words("asks an item"), RULE.fixes["asks an item"].message
    if ends_a_loop_inside(point):
        return RULE.words("ends a loop"), RULE.fixes["ends a loop"].message
    if _repairs(node, point):
        return RULE.words("repairs"), RULE.fixes["repairs"].message
    owner, test = _owner(node, context)
    words = _words(owner, node, context)
    if isinstance(owner, ast.IfExp):
        return _where(owner, node, (owner.body, owner.orelse), context), words
    chosen = _choice(owner, node, context) if isinstance(owner, ast.If) and not _asks_if_finite(node) else None
    if chosen is not None:
        return chosen, words
    skips = isinstance(_last(owner), (ast.Continue, ast.Return))  # it skips the rest of the step
    if skips and _asks_if_finite(node):
        return RULE.words("scaler"), words
    return _every_nth(owner, test, node, words, context), words


def _words(owner: ast.AST | None, node: ast.expr, context: Context) -> str:
    """The clause for a test that decides what a statement does."""
    if isinstance(owner, ast.IfExp):
        return RULE.texts["choose"]
    is_check = isinstance(owner, ast.stmt) and _is_check(owner)
    if isinstance(owner, (ast.If, ast.Assert)) and not is_check:
        return _for_branch(owner, node)
    where = " in a forward pass" if context.running.forward else ""
    said = RULE.texts[f"{'check' if is_check else 'decide'}{where}"]
    return said.format(interval=context.settings.log_interval)


def _gives_none(expression: ast.expr, point: Point) -> bool:
    """Whether a test only decides to drop a value: ``if not mask.any(): mask = None``"""
    statement = point.statement.node
    if isinstance(statement, ast.If) and not statement.orelse and expression in walk(statement.test):
        return all(isinstance(item, ast.Assign) and is_none(item.value) for item in statement.body)
    choices = (item for item in point.statement.nodes if isinstance(item, ast.IfExp) and expression in walk(item.test))
    return any(is_none(choice.body) or is_none(choice.orelse) for choice in choices)


def _repairs(expression: ast.expr, point: Point) -> bool:
    """Whether a test replaces a value that is not finite: ``if loss == float("inf"): loss = other``."""
    statement = point.statement.node
    if not isinstance(statement, ast.If) or not all(isinstance(each, ast.Assign) for each in statement.body):
        return False
    return _asks_if_finite(expression) or any(map(_is_infinite, walk(expression)))


def _is_infinite(node: ast.AST) -> bool:
    """``float("inf")``, ``np.inf``, ``math.inf``"""
    if isinstance(node, ast.Call) and dotted(node.func) == "float" and node.args:
        return (string_of(node.args[0]) or "").lower().lstrip("+-") in ("inf", "infinity")
    return isinstance(node, ast.Attribute) and node.attr.lower() == "inf"


def _is_check(statement: ast.stmt) -> bool:
    """Whether a statement only stops the run, or prints something, if its test is true."""
    if not isinstance(statement, ast.If):
        return isinstance(statement, ast.Assert)
    return isinstance(statement.body[-1], (ast.Raise, ast.Break)) or (
        not statement.orelse and all(only_calls(each, _SAYS) for each in statement.body)
    )


def _for_branch(statement: ast.If | ast.Assert, expression: ast.expr) -> str:
    """What to do instead of an ``if`` that decides what is computed."""
    branches = [*statement.body, *statement.orelse] if isinstance(statement, ast.If) else []
    if _asks_if_finite(expression) and isinstance(branches[0], (ast.Continue, ast.Return)):
        return RULE.texts["scaler"]
    if any(isinstance(branch, ast.Return) for branch in branches):
        return RULE.texts["return"]
    only_assigns = all(isinstance(branch, (ast.Assign, ast.AugAssign, ast.Pass)) for branch in branches)
    return RULE.texts["choose" if only_assigns else "host"]


def _pick(node: ast.expr, context: Context) -> Fix | None:
    """``paddle.maximum(a, b)`` for ``max(a, b)``."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return None
    function, given = {"max": "paddle.maximum", "min": "paddle.minimum"}.get(node.func.id), arguments_of(node)
    drawn = given[0] if given and function is not None else None
    if isinstance(drawn, (ast.ListComp, ast.GeneratorExp)) and isinstance(drawn.elt, ast.IfExp):
        return RULE.words("some of a row", better=node.func.id)
    if node.func.id == "sorted" or (function is not None and len(given) != 2):
        return RULE.words("sorted", better="paddle.sort" if function is None else f"paddle.{node.func.id}")
    if function is None:
        return None
    paddle = paddle_at(context.here.statement.node, context.file)
    edits: tuple[Edit, ...] = ()
    if paddle is not None and all(map(Evidence(context.here).is_one_tensor, given)):
        edits = context.instead(node.func, function.replace("paddle", paddle))
    return replace(RULE.words("pick", function=function), edits=edits)


def _owner(node: ast.expr, context: Context) -> tuple[ast.AST | None, ast.expr]:
    """The statement or conditional expression that decides, and its whole test."""
    for parent, _ in context.around(node):
        if isinstance(parent, _DECIDING):
            return parent, parent.test
        if isinstance(parent, ast.comprehension) and node in parent.ifs:
            return parent, node
        if not isinstance(parent, (ast.BoolOp, ast.UnaryOp, ast.NamedExpr)):
            break
        node = parent
    return None, node


def _choice(owner: ast.If, node: ast.expr, context: Context) -> Fix | None:
    """``x = paddle.where(test, a, b)`` for an ``if`` whose branches only assign to one name."""
    first = _assigned(owner.body, context)
    if first is None or context.text(owner).startswith("elif"):
        return None
    name, value = first
    if not owner.orelse:
        return _where(owner, node, (value, ast.Name(name, ast.Load())), context, name)
    other = _assigned(owner.orelse, context)
    if other is None or other[0] != name:
        return None
    return _where(owner, node, (value, other[1]), context, name)


def _assigned(body: list[ast.stmt], context: Context) -> tuple[str, ast.expr] | None:
    """The name and the value of a block that is one assignment."""
    is_alone = len(body) == 1 and has_own_rows(body[0], context.file.source)
    return plain_assignment(body[0]) if is_alone else None


def _where(owner: ast.AST, node: ast.expr, choice: _Choice, context: Context, name: str = "") -> Fix:
    """The choice between two tensors on the device; words if one may not be a tensor, or has side effects.

    Args:
        owner: the node to replace.
        node: the decision that was found: the whole test, or a part of it.
        choice: the two alternatives.
        context: the candidate and its file.
        name: the name that gets the choice, if ``owner`` is a statement.
    """
    first, second = choice
    test, paddle = getattr(owner, "test", None), paddle_at(context.here.statement.node, context.file)
    whole = test is node and not isinstance(test, ast.NamedExpr) and "#" not in context.text(owner)
    if paddle is None or not whole or not (_is_pure(first, context) and _is_pure(second, context)):
        return RULE.words("choice")
    sides = [side for side in choice if not _is_name(side, name)]
    divisor = next(filter(None, (_divisor(side, node) for side in sides)), None)
    if divisor is not None:
        return RULE.words("divides", divisor=divisor)
    if _differ_in_shape(sides, context):
        return RULE.words("choice of shapes")
    other = name if _is_name(second, name) else context.text(second)
    text = f"{paddle}.where({context.text(node)}, {context.text(first)}, {other})"
    edits = (Edit(*context.range(owner), f"{name} = {text}"),) if name else context.instead(owner, text)
    return replace(RULE.words("choice"), edits=edits)


def _divisor(side: ast.expr, test: ast.expr) -> str | None:
    """The divisor in one side of a choice, if the test keeps it from 0: ``n`` of ``loss / n`` under ``n > 0``."""
    if not _compares_with_nothing(test):
        return None
    divisions = (item for item in walk(side) if isinstance(item, ast.BinOp))
    divisors = (item.right for item in divisions if isinstance(item.op, (ast.Div, ast.FloorDiv, ast.Mod)))
    return next((ast.unparse(each) for each in divisors if plain_names(each) & plain_names(test)), None)


def _compares_with_nothing(test: ast.expr) -> bool:
    """Whether a test compares something with 0 or a small number: ``n > 0``, ``n != 0``, ``n > eps``, ``n``."""
    if not isinstance(test, ast.Compare):
        return True
    return any(
        (isinstance(side, ast.Constant) and isinstance(side.value, (int, float)) and abs(side.value) < _HARDLY)
        or "eps" in (dotted(side) or "").lower()
        for side in (test.left, *test.comparators)
    )


def _is_pure(expression: ast.expr, context: Context) -> bool:
    """Whether an expression is a tensor, and nothing in it has side effects."""
    return Evidence(context.here).is_one_tensor(expression) and not effect_at(context.here, expression)


def _differ_in_shape(sides: Sequence[ast.expr], context: Context) -> bool:
    """Whether one side is a single number and the other one has axes: ``x.mean()`` and ``paddle.zeros([1])``."""
    kinds = [Evidence(context.here).kind(side) for side in sides]
    return any(map(_is_made_with_axes, sides)) and any(
        kind.scalar and not _is_made_with_axes(side) for kind, side in zip(kinds, sides, strict=True)
    )


def _is_made_with_axes(node: ast.expr) -> bool:
    """``paddle.zeros([1])``, ``paddle.to_tensor([0.0])``"""
    if not isinstance(node, ast.Call) or terminal(node) not in _MAKING:
        return False
    shape = next((item.value for item in node.keywords if item.arg == "shape"), node.args[0] if node.args else None)
    return isinstance(shape, (ast.List, ast.Tuple)) and bool(shape.elts)


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _every_nth(owner: ast.AST | None, test: ast.expr, expression: ast.expr, words: str, context: Context) -> Fix:
    if context.running.forward:
        return Fix(words, (), Level.DISPLAY, RULE.texts["forward"])
    only_leaves = isinstance(owner, ast.Assert) or isinstance(_last(owner), (ast.Raise, ast.Break))
    if not (_asks_if_finite(expression) or only_leaves or _is_check(context.here.statement.node)):
        return Fix(words, (), Level.DISPLAY, RULE.texts["others"])
    interval = str(context.settings.log_interval)
    check = RULE.words("check", interval=interval)
    binds_a_name = any(isinstance(item, ast.NamedExpr) for item in walk(test))  # then only at some steps
    if binds_a_name or not isinstance(owner, (ast.If, ast.Assert)) or getattr(owner, "orelse", None):
        return check
    if context.here.loop is None:
        return RULE.words("check, steps counted elsewhere", interval=interval)
    index = counter_here(context)
    if index is None or index.enumerate or index.unnamed is not None:
        return RULE.words("check, steps not counted", interval=interval)
    rare = f"{index.name} % {interval} {'!= 0 or' if isinstance(owner, ast.Assert) else '== 0 and'} "
    is_or, text = isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or), context.text(test)
    asked = f"({text})" if is_or else text
    return replace(check, edits=context.instead(test, rare + asked))


def _asks_if_finite(node: ast.expr) -> bool:
    return any(terminal(call) in _NOT_FINITE for call in calls_in(node))


def _last(owner: ast.AST | None) -> ast.stmt | None:
    return owner.body[-1] if isinstance(owner, ast.If) else None


# PPF203: a decision of Python on a device tensor at each step.

_MATH = frozenset(f"math.{name}" for name in MATH)
_INSIDE = PICKS | MATH
# Calls that turn a tensor into a number or a truth value: a forward pass without one certainly decides on nothing.
_CERTAIN = frozenset(
    {"any", "all", "isnan", "isfinite", "isinf", "sum", "mean", "max", "min", "equal_all", "allclose", "count_nonzero"}
)
_Decision = ast.Name | ast.Attribute | ast.Subscript | ast.Call | ast.Compare | ast.BinOp | ast.UnaryOp


def _decisions(point: Point) -> Iterator[tuple[ast.expr, Kind]]:
    """The expressions of a statement that decide on a tensor, with its kind, even if a guard makes them rare."""
    for expression, asked in scopes.candidates(point.statement.node):
        may_ask = asked or not isinstance(expression, ast.Call) or not _takes_as_it_is(expression)
        kind = _read_by(point, expression, asked) if may_ask and isinstance(expression, _Decision) else None
        if kind is not None:
            yield expression, kind


@rule(RULE.code, at=At.HOT, find_at=_decisions, decided=_CERTAIN)
def decision(kind: Kind, context: Context) -> None:
    """Report a tensor whose truth Python tests, directly or inside ``max``, ``in`` and the like."""
    node, step, point = context.node, context.running, context.here
    assert isinstance(node, ast.expr)
    evidence = Evidence(point)
    confidence = _confidence(kind, node, step, point, evidence)
    if confidence is None or _never_asked(node, point, context, evidence):
        return
    if step.forward and any(evidence.is_handed_over(test) for test in _conditions(node, context, point)):
        confidence = Confidence.LOW  # for a forward pass, it is unknown whether callers pass the optional argument
    if step.forward and any(map(_asks_for_dtype, _conditions(node, context, point))):
        confidence = Confidence.LOW  # usually float16, which most programs do not train in
    case = "filter" if is_filter(node, context) else "presence" if asks_for_presence(node, point) else ""
    if case:
        context.report(RULE.words(case), confidence=confidence, message=RULE.texts[case])
        return
    fix, advice = instead(node, context)
    context.report(fix, confidence=confidence, advice=advice)


def _takes_as_it_is(call: ast.Call) -> bool:
    """Whether a call certainly tests the truth of nothing: ``x.f(...)`` for another ``f`` than those that do."""
    return isinstance(call.func, ast.Attribute) and call.func.attr not in _INSIDE


def _asked_before(node: ast.AST, context: Context) -> Iterator[tuple[ast.expr, bool]]:
    """The operands to the left of a node in the same test, each with whether it has to be true (``and``)."""
    for parent, inner in context.around(node):
        if isinstance(parent, ast.BoolOp):
            before = parent.values[: next(at for at, value in enumerate(parent.values) if value is inner)]
            yield from ((value, isinstance(parent.op, ast.And)) for value in before)
        elif not isinstance(parent, ast.UnaryOp):
            return


def _never_asked(node: ast.AST, point: Point, context: Context, evidence: Evidence) -> bool:
    """Whether an operand to the left in the same test is already reported, or is off by default."""
    return any(
        _read_by(point, scopes.leaf(item), True) is not None or (must_hold and evidence.is_off(item))
        for left, must_hold in _asked_before(node, context)
        for item in scopes.operands(left)
    )


def _conditions(node: ast.AST, context: Context, point: Point) -> Iterator[ast.expr]:
    """The conditions for a decision: the tests around its statement, and earlier operands of ``and``."""
    for test in point.statement.tests:
        yield from scopes.required(test)
    for left, must_hold in _asked_before(node, context):
        if must_hold:
            yield from scopes.required(left)


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
        return looked_up_in_a_list(node, point)
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


def _confidence(kind: Kind, node: ast.expr, step: Step, point: Point, evidence: Evidence) -> Confidence | None:
    """How certain a decision is on a device tensor, in training; None if it is not certain enough."""
    scope = point.scope
    if sets_up(scope.name):
        return None
    if not step.forward:
        return Confidence.MEDIUM if kind.guess else Confidence.HIGH
    is_led_to = is_trained(point)
    if not is_led_to and (scope.owner is None or _only_predicts(scope.owner, scope)):
        return None
    # In a forward pass the arguments are tensors only by convention, so a call has to show it.
    picks = isinstance(node, ast.Call) and dotted(node.func) in PICKS
    calls = (call for part in evidence.sources(node) for call in calls_in(part) if not (picks and call is node))
    if any(_is_certain(call, evidence) for call in calls):
        return Confidence.LOW if kind.guess and not _reduces(node, evidence) else Confidence.MEDIUM
    if is_led_to and not kind.guess and not picks:
        return Confidence.MEDIUM
    if point.statement.loop is not None and any(is_a_result(each, point) for each in _compared(node)):
        return Confidence.MEDIUM  # in each pass of a loop inside
    return Confidence.LOW if picks and not kind.guess else None


def _compared(node: ast.expr) -> list[ast.expr]:
    """The values that a decision is about: both of ``a > b`` and of ``max(a, b)``, the items of ``max([...])``."""
    if isinstance(node, ast.Compare):
        return [node.left, *node.comparators]
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
        return _compared(node.elt)
    if isinstance(node, ast.Call) and dotted(node.func) in PICKS:
        return _compared(node.args[0]) if len(node.args) == 1 else node.args
    return [node]


def _only_predicts(owner: Class, forward: Scope) -> bool:
    """Whether a forward pass selects results, or searches for the best sequence, as in prediction."""
    names = (owner.name, forward.name)
    return any(decodes(name) or predicts(name) for name in names) or any("beam" in name for name in owner.attributes)


def _reduces(node: ast.expr, evidence: Evidence) -> bool:
    """Whether a decision itself calls a method such as ``mask.any()``, which numbers and lists do not have."""
    return any(
        isinstance(call.func, ast.Attribute)
        and evidence.kind(call.func.value).is_tensor
        and _is_certain(call, evidence)
        for call in calls_in(node)
    )


def _is_certain(call: ast.Call, evidence: Evidence) -> bool:
    return terminal(call) in _CERTAIN and evidence.kind(call).is_tensor
