"""PPF907: a loop in Python over the samples of a batch, although each kernel could take the whole batch."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from perflint.catalogue import shipped
from perflint.findings import Confidence
from perflint.flow.evaluate import Evaluator
from perflint.lint.context import Context
from perflint.lint.registry import At, rule
from perflint.paddle.tensor_methods import READ_METHODS
from perflint.syntax.bindings import bindings_of, plain_assignment, targets_and_values
from perflint.syntax.names import dotted, hands_on, names_in, plain_names
from perflint.syntax.reaching import before, sole_value
from perflint.syntax.scopes import Scope, Statement, terminal
from perflint.syntax.tree import sized_by_shape, walk
from perflint.training.steps import Point

RULE = shipped()["PPF907"]
_SIZES_DIFFER = frozenset(
    {*READ_METHODS, "nonzero", "masked_select", "unique", "unique_consecutive", "index_select", "topk", "where"}
)
"""Calls whose results differ in size between samples, or that need a number on the host."""
_WITHOUT_BATCH = frozenset({"histogram", "histogramdd", "bincount"})
"""Functions of Paddle without a batch axis: they count over the whole input."""
_GIVE_LISTS = frozenset(
    {"split", "tensor_split", "chunk", "unbind", "unstack", "meshgrid", "broadcast_tensors", "list", "tuple", "sorted"}
)
"""Calls that return a list, while the rest of Paddle returns one tensor."""
_DISPLAYS = (ast.List, ast.Tuple, ast.Dict, ast.ListComp, ast.GeneratorExp, ast.DictComp)
_NOT_ALIKE = (ast.For, ast.While, ast.If, ast.IfExp, ast.Break, ast.Continue, ast.Return, ast.Try, ast.With, ast.Yield)
"""Statements by which one sample can be treated differently from the next."""
_DRAWN = frozenset({"random", "rand", "randn", "randint", "randperm", "uniform", "shuffle", "choice"})
_PLAIN_INDEX = (ast.Constant, ast.Slice, ast.Tuple, ast.UnaryOp, ast.USub, ast.Load)


def _loops(point: Point) -> Iterator[tuple[ast.expr, str]]:
    node = point.statement.node
    batch = _batch(node, point) if isinstance(node, ast.For) else None
    if batch is not None and isinstance(node, ast.For) and _is_alike(node, point):
        yield node.iter, batch


@rule(RULE.code, at=At.HOT, find_at=_loops, clues=["range"], is_close=True, claims=False, heeds_claims=False)
def batch_loop(batch: str, context: Context) -> None:
    """Report ``for i in range(x.shape[0])`` that does the same with each sample."""
    context.report(RULE.words(), confidence=Confidence.MEDIUM, costs_on_cpu=True, batch=batch)


def _batch(loop: ast.For, point: Point) -> str | None:
    """The tensor whose samples a loop counts: ``x`` of ``range(x.shape[0])``, directly or through a name."""
    call = loop.iter
    if not isinstance(loop.target, ast.Name) or not isinstance(call, ast.Call) or dotted(call.func) != "range":
        return None
    sized = _sized(call.args[0], point.statement, point.scope) if len(call.args) == 1 else None
    if sized is None or not _is_tensor(sized.node, point):
        return None
    if not sized.by_shape and not _is_surely_one(sized.node, point):
        return None
    return ast.unparse(sized.node)


class _Sized(NamedTuple):
    """An object whose first axis is counted; ``by_shape``: by ``x.shape``, which a list does not have."""

    node: ast.expr
    by_shape: bool


def _sized(node: ast.expr, at: Statement, scope: Scope) -> _Sized | None:
    """The object whose first axis an expression counts."""
    if isinstance(node, ast.Name):
        found = before(node.id, at, scope)
        return _unpacked(found[0].statement, node.id) if len(found) == 1 else None
    return _counted(node)


def _counted(node: ast.expr) -> _Sized | None:
    """The ``x`` of ``len(x)`` and of ``x.shape[0]``."""
    if isinstance(node, ast.Call) and dotted(node.func) == "len" and len(node.args) == 1:
        return _Sized(node.args[0], by_shape=False)
    sized = sized_by_shape(node)
    return _Sized(sized, by_shape=True) if sized is not None else None


def _unpacked(binding: Statement, name: str) -> _Sized | None:
    """The tensor whose first axis a statement gives a name: ``b = x.shape[0]``, ``b, c, h, w = x.shape``."""
    made = plain_assignment(binding.node)
    if made is not None:
        return _counted(made[1])
    for target, value in targets_and_values(binding.node):
        is_first = isinstance(target, ast.Tuple) and bool(target.elts) and dotted(target.elts[0]) == name
        if is_first and isinstance(value, ast.Attribute) and value.attr == "shape":
            return _Sized(value.value, by_shape=True)
    return None


def _is_tensor(node: ast.expr, point: Point) -> bool:
    kind = Evaluator(point.file, point.full_env).kind(node)
    return kind.is_tensor and not kind.items and not _is_list(node, point)


def _is_list(node: ast.expr, point: Point) -> bool:
    """Whether the code makes this a list, as with ``keys = []`` or ``self.gates = [...]``, or appends to it."""
    name = dotted(node)
    if name is None:
        return isinstance(node, _DISPLAYS)
    statements = bindings_of(point.scope).get(name, ())
    bound = [value for one in statements for _, value in targets_and_values(one.node) if value is not None]
    return any(map(_gives_list, (*bound, *point.scope.values_of(name))))


def _gives_list(value: ast.expr) -> bool:
    """Whether an expression is a list, a multiple of one, or a call that returns one."""
    if isinstance(value, ast.BinOp):
        return _gives_list(value.left) or _gives_list(value.right)
    return isinstance(value, _DISPLAYS) or (isinstance(value, ast.Call) and terminal(value) in _GIVE_LISTS)


def _is_surely_one(node: ast.expr, point: Point) -> bool:
    """Whether ``x`` of ``len(x)`` is one tensor, not a list of tensors: a call of Paddle returns it, or it has a shape.

    ``x[i] = ...`` puts new tensors into a list as well as into a tensor, so it says nothing for the latter.
    """
    name = dotted(node)
    if name is None:
        return False
    asked = any(
        isinstance(item, ast.Attribute) and item.attr in ("shape", "ndim", "astype") and dotted(item.value) == name
        for statement in point.scope.statements
        for item in statement.nodes
    )
    made = sole_value(node, point.statement, point.scope)
    return asked or (made is not None and isinstance(made[1], ast.Call) and _gives_tensor(made[1], point))


def _gives_tensor(call: ast.Call, point: Point) -> bool:
    """Whether a call is of a function of Paddle that returns one tensor, not of a class."""
    name, last = point.file.names.qualified(call.func), terminal(call) or ""
    return name.startswith("paddle.") and last.islower() and last not in _GIVE_LISTS


def _is_alike(loop: ast.For, point: Point) -> bool:
    """Whether a loop does the same with each sample, by kernels that can take all of them."""
    inside = [item for statement in loop.body for item in walk(statement)]
    calls = [item for item in inside if isinstance(item, ast.Call)]
    may_differ = any(isinstance(item, _NOT_ALIKE) for item in inside) or any(map(_differs, calls))
    if may_differ or not any(_computes(call, point) for call in calls) or not _keeps_all(inside):
        return False
    name = loop.target.id if isinstance(loop.target, ast.Name) else ""
    parts = [item for item in inside if isinstance(item, ast.Subscript)]
    samples = [item for item in parts if name in plain_names(item.slice)]
    alike = all(_is_a_sample(item, point) if item in samples else _is_fixed(item.slice) for item in parts)
    return bool(samples) and alike and not hands_on(loop)


def _keeps_all(inside: list[ast.AST]) -> bool:
    """Whether each iteration leaves something: a sum, a written item, or one more part of a list."""
    return any(
        isinstance(item, ast.AugAssign)
        or (isinstance(item, ast.Subscript) and isinstance(item.ctx, ast.Store))
        or (isinstance(item, ast.Call) and terminal(item) in ("append", "extend"))
        for item in inside
    )


def _differs(call: ast.Call) -> bool:
    """Whether a call differs between samples: random numbers, results of other sizes, a layer by its number.

    A function without a batch axis, such as ``paddle.histogram``, counts too: it cannot take the whole batch.
    """
    last = terminal(call)
    return (
        last in _SIZES_DIFFER
        or last in _WITHOUT_BATCH
        or last == "getattr"
        or not _DRAWN.isdisjoint(names_in(call.func))
    )


def _is_a_sample(item: ast.Subscript, point: Point) -> bool:
    """Whether this is ``x[i]``, or ``x[i, 1:]``, of a tensor: a list may hold samples of different sizes."""
    first, *rest = item.slice.elts if isinstance(item.slice, ast.Tuple) else [item.slice]
    return isinstance(first, ast.Name) and all(map(_is_fixed, rest)) and _is_tensor(item.value, point)


def _is_fixed(index: ast.expr) -> bool:
    """Whether an index is the same for each sample: not a tensor or a length of this one."""
    return all(isinstance(part, _PLAIN_INDEX) for part in walk(index))


def _computes(call: ast.Call, point: Point) -> bool:
    """Whether a call computes something on the device: a function of Paddle, or a layer of the model."""
    name = point.file.names.qualified(call.func)
    return name.startswith("paddle.") or (name.startswith("self.") and terminal(call) != "append")
