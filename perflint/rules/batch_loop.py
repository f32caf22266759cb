"""PPF907: a loop in Python over the parts of a tensor, although each kernel could take all of them."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from perflint.catalogue import shipped
from perflint.facts.unknown_size import Form, dense_form, dynamic_op
from perflint.findings import Confidence
from perflint.flow.evaluate import Evaluator
from perflint.flow.uses import UseSearch, uses
from perflint.lint.context import Context
from perflint.lint.registry import At, rule
from perflint.paddle.tensor_methods import READ_METHODS
from perflint.rules.grown_array import means_training
from perflint.rules.loop_ways import Way, is_split, is_tensor, way_of
from perflint.rules.tensor_reads import Evidence
from perflint.syntax.bindings import plain_assignment
from perflint.syntax.names import dotted, hands_on, names_in, plain_names, stored_names
from perflint.syntax.parameters import all_parameters
from perflint.syntax.reaching import sole_value
from perflint.syntax.scopes import Scope, required, terminal
from perflint.syntax.tree import alike, indices_of, walk
from perflint.syntax.vocabulary import is_no_training
from perflint.trace.events import StepEvent
from perflint.trace.step_trace import Repeat, StepCall, all_nodes, of_function, of_loop
from perflint.training.steps import Point, points_of

RULE = shipped()["PPF907"]
_MOST_USES = 20
_LEAST = 2
"""The least number of operations in a pass for which the loop is worth rewriting; taking a part is one of them."""
_OPERATIONS = (ast.Call, ast.BinOp, ast.Compare, ast.Subscript)
_SIZES_DIFFER = frozenset(
    {*READ_METHODS, "nonzero", "masked_select", "unique", "unique_consecutive", "index_select", "where", "nms"}
)
"""Calls whose results differ in size between parts, or that need a number on the host."""
_WITHOUT_BATCH = frozenset({"histogram", "histogramdd", "bincount"})
"""Functions of Paddle without a batch axis: they count over the whole input."""
_NOT_ALIKE = (ast.For, ast.While, ast.IfExp, ast.Break, ast.Continue, ast.Return, ast.With, ast.Yield)
"""Code by which one part can be treated differently from the next."""
_DRAWN = frozenset({"random", "rand", "randn", "randint", "randperm", "uniform", "shuffle", "choice"})
_PLAIN_INDEX = (ast.Constant, ast.Slice, ast.Tuple, ast.UnaryOp, ast.USub, ast.Load)
_NUMBERS = re.compile(
    r"^(?:\w+_)?(?:inds?|index|indices|indexes|idxs?|ids?|labels?|targets?|gts?|tgt|trg|y|classes|order)(?:_\w+)?$",
    re.IGNORECASE,
)
"""Names of tensors of whole numbers by which items are taken; masks have other names."""
_MAKES_NUMBERS = frozenset({"arange", "argmax", "argmin", "argsort", "randint", "randperm", "nonzero"})
_JOIN = frozenset({"stack", "concat", "add_n", "sum"})
"""Calls that make one tensor of those that a comprehension gives."""
_CLUES = frozenset({"range", "enumerate", "unstack", "unbind", *_JOIN})
_ONE_SIZE = (Form.SUM, Form.EXTREME)
"""What becomes of ``x[mask]`` where the values outside of a mask can be replaced instead of left out."""


class _Passes(NamedTuple):
    """A loop or a comprehension: what goes over what, what each pass does, and where each part of that is."""

    node: ast.For | ast.ListComp | ast.GeneratorExp
    target: ast.expr
    over: ast.expr
    body: Sequence[ast.AST]
    items: Sequence[tuple[Point, ast.AST]]


def loops(point: Point) -> Iterator[tuple[ast.expr, tuple[str, str, str]]]:
    """The loops and the comprehensions of a statement that do the same with each part of a tensor."""
    predicts = any(means_training(test) is (not truth) for test, truth in point.statement.conditions)
    for loop in _passes_of(point) if not predicts and not is_no_training(point.scope.name) else ():
        way = way_of(loop.target, loop.over, point)
        masked = _masked(loop) if way is not None else set()
        chosen = _chosen_by(loop, way, point, masked) if way is not None else None
        if way is None or chosen is None or _decides_inside(loop, point, masked):
            continue
        count = _launched(loop) + len(way.parts)
        if count >= _LEAST or _writes(loop):
            yield loop.over, (way.where, "one operation" if count < _LEAST else f"{count} operations", chosen)


def _passes_of(point: Point) -> Iterator[_Passes]:
    """The loop inside a step that a statement is, and comprehensions in it whose parts become one tensor again."""
    node, points = point.statement.node, points_of(point.file)
    if isinstance(node, ast.For) and not (point.step is not None and point.step.loop is node):
        inner = (points[item] for item in walk(node) if item is not node and item in points)
        yield _Passes(
            node, node.target, node.iter, node.body, [(at, each) for at in inner for each in at.statement.nodes]
        )
    for item in point.statement.nodes:
        if isinstance(item, (ast.ListComp, ast.GeneratorExp)) and len(item.generators) == 1:
            drawn = item.generators[0]
            if not drawn.ifs and (_is_joined(item, point) or is_split(drawn.iter, point)):
                yield _Passes(item, drawn.target, drawn.iter, [item.elt], [(point, each) for each in walk(item.elt)])


def _is_joined(parts: ast.expr, point: Point) -> bool:
    """Whether a call makes one tensor of a list of parts, there or where the name of the list is read."""
    found = uses(parts, point.place, through=UseSearch(), budget=_MOST_USES)
    return any(isinstance(use.around, ast.Call) and terminal(use.around) in _JOIN for use in found)


@rule(RULE.code, at=At.HOT, find_at=loops, clues=_CLUES, is_close=True, claims=False, heeds_claims=False)
def batch_loop(found: tuple[str, str, str], context: Context) -> None:
    """Report ``for i in range(x.shape[0])`` that does the same with each part of ``x``."""
    where, count, case = found
    evidence = Evidence(context.here)
    is_optional = any(evidence.is_handed_over(each) for test in context.here.statement.tests for each in required(test))
    confidence = Confidence.LOW if is_optional else Confidence.MEDIUM
    cause = f"{context.here.scope.qualname} {where}"
    context.report(RULE.words(case), confidence=confidence, costs_on_cpu=True, where=where, count=count, cause=cause)


def _masked(loop: _Passes) -> set[ast.AST]:
    """What the passes select by a mask only for a sum or an extreme, for which other values can take its place."""
    return {
        item
        for at, item in loop.items
        if isinstance(item, (ast.Call, ast.Subscript))
        and dynamic_op(at, item) is not None
        and dense_form(at, item) in _ONE_SIZE
    }


def _chosen_by(loop: _Passes, way: Way, point: Point, masked: Collection[ast.AST]) -> str | None:
    """Whether a loop does the same with each part, by kernels that can take all of them, and passes nothing on.

    None if not; else what chooses items of the parts: "by mask", "by index" (numbers that a tensor holds), or "".
    """
    inside = [item for part in loop.body for item in walk(part)]
    calls = [item for item in inside if isinstance(item, ast.Call) and item not in masked]
    if any(isinstance(item, _NOT_ALIKE) for item in inside) or any(map(_differs, calls)):
        return None
    if isinstance(loop.node, ast.For) and (not _keeps_all(inside) or hands_on(loop.node) or _looks_back(inside)):
        return None
    bound = {way.number, *way.parts, *(each for part in loop.body for each in stored_names(part))}
    if any(isinstance(item, ast.If) and not bound.isdisjoint(plain_names(item.test)) for item in inside):
        return None
    if any(isinstance(item, ast.ExceptHandler) and not _only_tells(item) for item in inside):
        return None
    taken = _Taken(way, point, inside)
    items = [item for item in inside if isinstance(item, ast.Subscript) and item not in masked]
    if not all(map(taken.is_alike, items)) or not (way.parts or any(map(taken.is_part, items))):
        return None
    return "by mask" if masked else "by index" if any(map(taken.is_indexed, items)) else ""


class _Taken:
    """Decides whether the passes of a loop take, or write, items of one size: the same ones, or a part of a tensor."""

    def __init__(self, way: Way, point: Point, inside: list[ast.AST]) -> None:
        self._way = way
        self._point = point
        made = dict(filter(None, map(plain_assignment, inside)))
        indices = (each for item in inside if isinstance(item, ast.Subscript) for each in indices_of(item.slice))
        self._fixed = {each for each in indices if _is_fixed(each) or _is_window(each, made)}
        self._summed = {item.target for item in inside if isinstance(item, ast.AugAssign)}

    def is_alike(self, item: ast.Subscript) -> bool:
        """Whether this is ``x[0]``, or ``x[i]``, ``x[:, i]``, ``x[i : i + 1, 1:]`` or ``x[i, y[i]]`` of a tensor.

        Items of a list may differ in size. Where numbers choose what is added to, some may choose the same.
        """
        moving = self._moving(item)
        counting = [each for each in moving if self._counts(each)]
        numbers = all(each in counting or self._is_number(each) for each in moving)
        is_one = not moving or is_tensor(item.value, self._point) or is_split(item.value, self._point)
        if not numbers or len(counting) > 1 or not is_one:
            return False
        return bool(counting) or item not in self._summed

    def is_part(self, item: ast.Subscript) -> bool:
        """Whether the passes read, or write, another part of a tensor each."""
        return bool(self._moving(item))

    def is_indexed(self, item: ast.Subscript) -> bool:
        """Whether numbers that a tensor holds choose the item."""
        return not all(map(self._counts, self._moving(item)))

    def _moving(self, item: ast.Subscript) -> list[ast.expr]:
        """The indices that differ between passes."""
        number = self._way.number
        return [each for each in indices_of(item.slice) if each not in self._fixed or number in plain_names(each)]

    def _counts(self, index: ast.expr) -> bool:
        """Whether an index is the number of the pass, or is worked out of that and of constants."""
        bounds = [index.lower, index.upper] if isinstance(index, ast.Slice) else [index]
        return all(each is not None and _counts(each, self._way.number) for each in bounds)

    def _is_number(self, index: ast.expr) -> bool:
        """Whether an index is an item of a tensor that holds whole numbers: ``labels[i]``."""
        if isinstance(index, ast.Name):
            return index.id in self._way.parts and self._holds_numbers(self._way.parts[index.id])
        return isinstance(index, ast.Subscript) and self.is_alike(index) and self._holds_numbers(index.value)

    def _holds_numbers(self, node: ast.expr) -> bool:
        """Whether a tensor holds whole numbers, not a mask: ``labels``, or what ``paddle.argmax`` returns."""
        if Evaluator(self._point.file, self._point.full_env).kind(node).truth:
            return False
        made = sole_value(node, self._point.statement, self._point.scope)
        if made is not None and isinstance(made[1], ast.Call) and terminal(made[1]) in _MAKES_NUMBERS:
            return True
        return _NUMBERS.match((dotted(node) or "").rpartition(".")[2]) is not None


def _only_tells(handler: ast.ExceptHandler) -> bool:
    """Whether a handler only prints, or does nothing."""
    return all(isinstance(each, (ast.Pass, ast.Expr)) for each in handler.body)


def _is_window(index: ast.expr, made: Mapping[str, ast.expr]) -> bool:
    """Whether an index is a slice of the same length in each pass: ``x[start : start + 4]``, whatever ``start`` is."""
    if not isinstance(index, ast.Slice) or index.lower is None or index.step is not None:
        return False
    upper = made.get(index.upper.id) if isinstance(index.upper, ast.Name) else index.upper
    if not isinstance(upper, ast.BinOp) or not isinstance(upper.op, ast.Add) or not alike(upper.left, index.lower):
        return False
    return plain_names(upper.right).isdisjoint(made) and not any(isinstance(i, ast.Call) for i in walk(upper.right))


def _keeps_all(inside: list[ast.AST]) -> bool:
    """Whether each pass leaves something: a sum, a written item, or one more part of a list."""
    return any(
        isinstance(item, ast.AugAssign)
        or (isinstance(item, ast.Subscript) and isinstance(item.ctx, ast.Store))
        or _keeps(item)
        for item in inside
    )


def _keeps(item: ast.AST) -> bool:
    return isinstance(item, ast.Call) and terminal(item) in ("append", "extend")


def _looks_back(inside: list[ast.AST]) -> bool:
    """Whether a pass reads what an earlier one left in a list, or in another part of a tensor."""
    kept, own = set[str | None](), set[int]()
    written = {
        item: item.value for item in inside if isinstance(item, ast.Subscript) and isinstance(item.ctx, ast.Store)
    }
    for item in inside:
        if isinstance(item, ast.Call) and isinstance(item.func, ast.Attribute) and _keeps(item):
            kept.add(dotted(item.func.value))
            own.add(id(item.func.value))
        elif isinstance(item, ast.Subscript):
            same = [one for one in written if alike(one.value, item.value)]
            kept.update(dotted(item.value) for _ in same)
            own.update(id(item.value) for one in same if ast.dump(one.slice) == ast.dump(item.slice))
    return any(
        dotted(item) in kept and id(item) not in own for item in inside if isinstance(item, (ast.Name, ast.Attribute))
    )


def _differs(call: ast.Call) -> bool:
    """Whether a call differs between parts: random numbers, results of other sizes, a layer by its number.

    A function without a batch axis, such as ``paddle.histogram``, counts too: it cannot take the whole batch.
    """
    last = terminal(call)
    return (
        last in _SIZES_DIFFER
        or last in _WITHOUT_BATCH
        or last == "getattr"
        or not _DRAWN.isdisjoint(names_in(call.func))
    )


def _counts(index: ast.expr, name: str) -> bool:
    """Whether an index is the number of the pass, or is worked out of that and of constants."""
    return name in plain_names(index) and not any(
        isinstance(each, (ast.Call, ast.Subscript)) or (isinstance(each, ast.Name) and each.id != name)
        for each in walk(index)
    )


def _is_fixed(index: ast.expr) -> bool:
    """Whether an index is the same for each part: not a tensor or a length of this one."""
    return all(isinstance(part, _PLAIN_INDEX) for part in walk(index))


def _decides_inside(loop: _Passes, point: Point, besides: Collection[ast.AST]) -> bool:
    """Whether a pass waits for the device, or calls a function of the project that compares what it gets."""
    if isinstance(loop.node, ast.For):
        nodes = of_loop(point.place, loop.node).nodes
    else:
        everything = all_nodes(of_function(point.function).nodes)
        nodes = next((each.body for each in everything if isinstance(each, Repeat) and each.node is loop.node), ())
    for node in all_nodes(nodes):
        if isinstance(node, StepEvent) and node.node not in besides:
            return True
        if isinstance(node, StepCall) and any(_compares(each.function.scope) for each in node.reached):
            return True
    return False


def _compares(scope: Scope) -> bool:
    given = {*all_parameters(scope)} - {"self"}
    tests = (each.node.test for each in scope.statements if isinstance(each.node, (ast.If, ast.While)))
    return any(
        isinstance(item, ast.Compare) and not given.isdisjoint(plain_names(item.left)) and not _asks_for_none(item)
        for test in tests
        for item in walk(test)
    )


def _asks_for_none(test: ast.Compare) -> bool:
    return isinstance(test.ops[0], (ast.Is, ast.IsNot)) or any(
        isinstance(item, ast.Constant) and isinstance(item.value, str) for item in test.comparators
    )


def _writes(loop: _Passes) -> bool:
    """Whether a pass writes into a tensor."""
    return any(isinstance(item, ast.Subscript) and isinstance(item.ctx, ast.Store) for _, item in loop.items)


def _launched(loop: _Passes) -> int:
    """How many operations a pass launches at least: a call of a layer or of a function of the project is one."""
    sums = sum(isinstance(item, ast.AugAssign) for part in loop.body for item in walk(part))
    return sums + sum(
        Evaluator(at.file, at.full_env).kind(item).is_tensor
        for at, item in loop.items
        if isinstance(item, _OPERATIONS) and not _keeps(item)
    )
