"""PPF207: an operation whose result has a size that only the device knows, in step code or a forward pass."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import islice, repeat

from perflint.catalogue import shipped
from perflint.facts.unknown_size import MASK, Form, dense_form, dynamic_op
from perflint.facts.waits import is_put_there, sized_by_a_result, test_for
from perflint.findings import Confidence, Fix, Level
from perflint.lint.context import Context
from perflint.lint.registry import At, rule
from perflint.paddle.inside import UNKNOWN_SIZES
from perflint.paddle.tensor_methods import COMPARING
from perflint.rules.excuses import is_untrained
from perflint.rules.spelled import paddle_at
from perflint.syntax.names import dotted
from perflint.syntax.parameters import arguments_of
from perflint.syntax.scopes import terminal
from perflint.syntax.tree import indices_of
from perflint.syntax.vocabulary import picks
from perflint.training.steps import Point

RULE = shipped()["PPF207"]
_SLICE, _SHAPE, _RANKED = _SIZES = "a slice", "a shape", "topk"
# What a forward pass must call to be worth checking: a mask alone is not a call, so calls that go with one count too.
_BESIDE = frozenset({"mean", "sum", "astype", "cast", "squeeze", "flatten", "cross_entropy", "reshape"}) | COMPARING


def _operations(point: Point) -> Iterator[tuple[ast.expr, tuple[str, Confidence], Confidence]]:
    step = point.step
    most = Confidence.LOW if step is not None and _picks(point, step.function) else Confidence.HIGH
    for item in point.statement.nodes:
        if not isinstance(item, (ast.Call, ast.Subscript)):
            continue
        found = dynamic_op(point, item) if _is_worth_asking(item) else None
        if found is None and (name := _sized_by_a_tensor(item, point)):
            found = name, Confidence.MEDIUM
        if found is not None:
            yield item, found, most if found[0] != _RANKED else Confidence.HIGH


def _sized_by_a_tensor(node: ast.Call | ast.Subscript, point: Point) -> str:
    """What a tensor of the device says the size of: "a slice" in ``x[:, :n]``, "a shape" in ``x.reshape([n, 4])``."""
    if isinstance(node, ast.Call):
        size = _RANKED if terminal(node) == "topk" else _SHAPE
        return size if dotted(node.func) != "range" and sized_by_a_result(node, point) else ""
    return _SLICE if any(sized_by_a_result(each, point) for each in _slices(node)) else ""


def _slices(node: ast.Subscript) -> Iterator[ast.Slice]:
    """The slices of an index with a bound."""
    return (each for each in indices_of(node.slice) if isinstance(each, ast.Slice) and (each.lower or each.upper))


def _is_worth_asking(node: ast.Call | ast.Subscript) -> bool:
    """Whether an expression looks as if of unknown size: computing kinds is slow, and most indices are numbers."""
    if isinstance(node, ast.Subscript):
        return not isinstance(node.slice, (ast.Constant, ast.Slice))
    return terminal(node) in UNKNOWN_SIZES or isinstance(node.func, ast.Name)


@rule(RULE.code, at=At.HOT, find_at=_operations, clues=UNKNOWN_SIZES | _BESIDE, claims=False)
def dynamic_shape(found: tuple[str, Confidence], context: Context) -> None:
    """Report an operation whose result has a size that the host must wait for."""
    point, expression, step = context.here, context.node, context.running
    assert isinstance(expression, ast.expr)
    if context.file.is_static or (step.forward and is_untrained(point, step.function)):
        return
    target = context.parent(expression)
    name, confidence = found
    is_stored = isinstance(target, ast.Assign) and expression in target.targets
    if isinstance(target, ast.Delete) or (is_stored and name == MASK):
        return  # ``x[mask] = v``: Paddle 3 fills it in place, without needing the number of items
    if _picks(point, step.function) and name != _RANKED:  # a rank says the same without a size
        confidence = Confidence.LOW
    form = dense_form(point, expression) if name not in _SIZES else None
    sized = [*_slices(expression)] if isinstance(expression, ast.Subscript) else [expression]
    is_put = name in (_SLICE, _SHAPE) and all(map(is_put_there, sized, repeat(point)))
    advice = RULE.texts["a number put there" if is_put else form.value if form is not None else name]
    test = test_for(point, expression) if form is not None else None
    if test is not None:
        advice += RULE.texts["under a test"].format(where=f"line {context.file.row(test)}")
    fix = _fix(name, expression, form, advice, context)
    context.report(fix, confidence=confidence, advice=advice)


def _picks(point: Point, function: str) -> bool:
    owner = point.scope.owner.name if point.scope.owner is not None else ""
    names = (point.scope.name, owner, function.rpartition(".")[0])
    return any(picks(name) for name in names)


def _fix(name: str, expression: ast.expr, form: Form | None, advice: str, context: Context) -> Fix:
    """The rewrite in words; for the mean over a mask, as code."""
    value, mask = _operands(expression, name)
    paddle = paddle_at(context.here.statement.node, context.file)
    called = next((outer for outer, _ in islice(context.around(expression), 1, None)), None)
    is_mean = isinstance(called, ast.Call) and terminal(called) == "mean" and not arguments_of(called)
    if value is None or mask is None or paddle is None or called is None or not is_mean:
        of_form = f"reason for {form.value if form is not None else name}"
        return Fix(advice, (), Level.DISPLAY, RULE.texts.get(of_form, RULE.fix_reason))
    text = f"{paddle}.where({mask}, {value}, {paddle}.zeros_like({value})).sum() / {mask}.sum().clip(min=1)"
    return Fix(advice, context.instead(called, text), Level.DISPLAY, RULE.texts["reason for a mean"])


def _operands(node: ast.expr, name: str) -> tuple[str | None, str | None]:
    """The values and the mask, if both are plain names."""
    parts: list[ast.expr] = []
    if isinstance(node, ast.Subscript):
        parts = [node.value, node.slice]
    elif isinstance(node, ast.Call) and name == "masked_select":
        owner = [node.func.value] if isinstance(node.func, ast.Attribute) and len(node.args) == 1 else []
        parts = [*owner, *node.args]
    names = [dotted(part) for part in parts]
    return (names[0], names[1]) if len(names) == 2 else (None, None)
