"""Slices of one tensor that a Python loop takes one after the other.

Since Paddle's strided kernels a slice is a view: it shares the memory of the tensor it was taken from. So what matters
is that tensor, the loop, and whether it is a tensor at all: ``x[i]`` may also be an item of a list.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import libcst as cst

from perflint.dataflow.evaluate import Evaluator
from perflint.dataflow.values import Values
from perflint.lint.context import Context
from perflint.syntax.bindings import bound_by
from perflint.syntax.names import dotted, dotted_names, plain_names
from perflint.syntax.scopes import Scope, terminal
from perflint.syntax.tree import base_of, indices_of, walk
from perflint.training.passes import chosen_by_filters, repeating_loops
from perflint.training.steps import Point

# Calls that return one new tensor, whose items are contiguous.
_NEW = frozenset(
    {"to_tensor", "to_variable", "zeros", "ones", "full", "rand", "randn", "randint", "uniform", "normal", "stack"}
    | {"concat", "zeros_like", "ones_like", "matmul", "softmax", "log_softmax", "sigmoid", "relu", "one_hot"}
    | {"embedding", "interpolate", "conv2d", "linear", "gather", "index_select", "cdist"}
)
# Calls that return one tensor, possibly a view of another one.
_ONE = _NEW | frozenset(
    {"reshape", "transpose", "squeeze", "unsqueeze", "flatten", "astype", "cast", "abs", "exp", "log", "sqrt", "clip"}
    | {"detach", "clone", "expand", "tile", "where", "bmm", "einsum", "pow", "scale", "tanh", "normalize", "upsample"}
)
# They leave one dimension of two: what is read of their result is small.
_REDUCED = frozenset(
    {"argmax", "argmin", "sum", "mean", "max", "min", "norm", "any", "all", "arange", "prod", "bincount"}
)
# What lists, tuples and dicts do not have.
_ATTRIBUTES = _ONE | _REDUCED | {"shape", "ndim", "dtype", "T", "numpy", "item", "stop_gradient", "place"}


@dataclass(frozen=True)
class Loop:
    """A loop or comprehension around an expression: its row, what it binds, and which of these count iterations."""

    row: int
    bound: frozenset[str]
    counters: frozenset[str]


@dataclass(frozen=True)
class Sweep:
    """One tensor (``base``) of which a loop takes another slice in each iteration.

    ``loop``: None if nothing shows that the slices of several iterations are of the same tensor. ``shown``: something
    in the code shows that ``base`` is a single tensor. ``new``: its items are known to be contiguous. ``narrow``: it is
    the result of a reduction and has one index, so that it is as small as what is read of it.
    """

    base: ast.expr
    loop: Loop | None
    shown: bool
    new: bool
    narrow: bool


def loops_around(node: cst.CSTNode, context: Context) -> list[Loop]:
    """The comprehensions and loops that repeat the current node, from the inside out."""
    return [*_comprehensions(node, context), *_statements(context.here, context)]


def sweep(node: ast.expr, loops: list[Loop], is_method: bool, context: Context) -> Sweep | None:
    """The tensor that a chain of subscripts (``x[i][:4]``) is a slice of; None if it is not a view of a tensor.

    ``is_method``: a method that only tensors have is called on the slice.
    """
    levels = _levels(node)
    evaluator = Evaluator(context.file, context.here.full_env)
    for loop in loops:
        for depth, level in enumerate(levels):
            if not dotted_names(level.slice) & loop.bound:
                continue
            if dotted_names(level.value) & loop.bound or not _is_view(level.slice, loop, evaluator):
                break
            return _sweep(levels[depth:], loop, is_method, context)
    first = levels[0] if levels else None
    if first is None or not all(isinstance(index, ast.Constant) for index in indices_of(first.slice)):
        return None
    return _sweep(levels, None, is_method, context)


def _sweep(levels: list[ast.Subscript], loop: Loop | None, is_method: bool, context: Context) -> Sweep:
    level, point = levels[0], context.here
    base, root = level.value, base_of(level)
    name = dotted(root)
    definition = Values.of(point.file.project).definitions(point.file, point.scope).get(name) if name else None
    made_by = terminal(definition) if isinstance(definition, ast.Call) else ""
    depth = sum(len(indices_of(item.slice)) for item in levels)
    sliced = is_method and any(True for _ in _sliced(level.slice))
    by_name = made_by in _ONE | _REDUCED or (
        name is not None and name in context.once(("asked", point.scope), lambda: _asked_like_tensors(point.scope))
    )
    shown = sliced or by_name or _is_item_of_a_batch(base, point)
    # A slice of a slice still refers to the memory of the first tensor.
    return Sweep(root if by_name else base, loop, shown, made_by in _NEW, depth == 1 and made_by in _REDUCED)


def levels_of(node: ast.expr) -> int:
    """How many dimensions a chain of subscripts names."""
    return sum(len(indices_of(level.slice)) for level in _levels(node))


def is_moving(node: ast.expr) -> bool:
    """Whether an index of a chain of subscripts is more than constants, so that a loop can change it."""
    return any(dotted_names(index) for level in _levels(node) for index in indices_of(level.slice))


def is_in_order(node: ast.expr) -> bool:
    """Whether a chain of subscripts selects contiguous items: plain indices, then at most one slice."""
    indices = [index for level in _levels(node) for index in indices_of(level.slice)]
    slices = [index for index in indices if isinstance(index, ast.Slice)]
    if any(isinstance(index, ast.Slice) and index.step is not None for index in indices):
        return False
    return len(slices) <= 1 and (not slices or indices[-1] is slices[0])


def _levels(node: ast.expr) -> list[ast.Subscript]:
    found: list[ast.Subscript] = []
    while isinstance(node, ast.Subscript):
        found.append(node)
        node = node.value
    return found[::-1]


def _sliced(index: ast.expr) -> Iterator[ast.expr]:
    """The parts of an index that only tensors accept: a slice (of a list it is a list, which has no ``numpy``)."""
    for part in indices_of(index):
        if isinstance(part, ast.Slice) or (isinstance(part, ast.Constant) and part.value is Ellipsis):
            yield part


def _is_view(index: ast.expr, loop: Loop, evaluator: Evaluator) -> bool:
    """Whether an index is made of numbers and slices; by tensors, lists and masks a copy is taken."""
    for part in indices_of(index):
        if isinstance(part, (ast.Compare, ast.List, ast.Tuple, ast.BoolOp)) or evaluator.kind(part).is_tensor:
            return False
        if isinstance(part, ast.Constant) and isinstance(part.value, (str, bool)):
            return False
    return any(True for _ in _sliced(index)) or bool(dotted_names(index) & loop.counters)


def _is_item_of_a_batch(base: ast.expr, point: Point) -> bool:
    """``batch[0]``: whether ``batch`` is a tensor or a tuple of them, the item is a tensor."""
    if not isinstance(base, ast.Subscript) or not isinstance(base.slice, ast.Constant):
        return False
    return isinstance(base.slice.value, int) and Evaluator(point.file, point.full_env).kind(base).is_tensor


def _asked_like_tensors(scope: Scope) -> frozenset[str | None]:
    """The names on which a function uses something that only tensors have."""
    return frozenset(
        dotted(item.value)
        for statement in scope.node.body
        for item in walk(statement)
        if isinstance(item, ast.Attribute) and item.attr in _ATTRIBUTES
    )


def _statements(point: Point, context: Context) -> Iterator[Loop]:
    for node in repeating_loops(point.statement.place):
        yield context.once((_statements, node), partial(_loop, node))


def _loop(node: ast.For | ast.AsyncFor | ast.While) -> Loop:
    bound = {name for item in walk(node) if isinstance(item, ast.stmt) for name in bound_by(item)}
    if isinstance(node, ast.While):
        counters = {name for item in walk(node) if isinstance(item, ast.AugAssign) for name in bound_by(item)}
    else:
        counters = _counters(node.target, node.iter)
    return Loop(node.lineno, frozenset(bound), frozenset(counters))


def _comprehensions(node: cst.CSTNode, context: Context) -> Iterator[Loop]:
    for parent, inner in context.around(node):
        if isinstance(parent, (cst.BaseSmallStatement, cst.BaseCompoundStatement, cst.Lambda)):
            return
        if isinstance(parent, cst.BaseComp) and inner is not parent.for_in:
            row = context.file.source.lines.position(context.range(parent)[0])[0]
            for generator in reversed(getattr(context.expression(parent), "generators", [])):
                if chosen_by_filters(generator):
                    continue
                bound = plain_names(generator.target)
                yield Loop(row, frozenset(bound), frozenset(_counters(generator.target, generator.iter)))


def _counters(target: ast.expr, iterated: ast.expr) -> set[str]:
    """Names that are numbers: the target of a ``range``, and the first name of an ``enumerate``."""
    while isinstance(iterated, ast.Call) and (dotted(iterated.func) or "").endswith("tqdm") and iterated.args:
        iterated = iterated.args[0]
    called = dotted(iterated.func) if isinstance(iterated, ast.Call) else None
    if called in ("range", "trange", "paddle.arange"):
        return dotted_names(target)
    if called == "enumerate" and isinstance(target, ast.Tuple) and target.elts:
        return dotted_names(target.elts[0])
    return set()
