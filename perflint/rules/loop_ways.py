"""What a loop goes along, if it goes along a tensor: an axis of known parts, or its samples one by one."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import NamedTuple, TypeGuard

from perflint.flow.evaluate import Evaluator
from perflint.syntax.bindings import bindings_of, plain_assignment, targets_and_values
from perflint.syntax.names import dotted
from perflint.syntax.parameters import argument_of
from perflint.syntax.reaching import before, sole_value
from perflint.syntax.scopes import Statement, terminal
from perflint.trace.lengths import passes
from perflint.training.steps import Point

_MANY = 16
"""The least number of passes, where that is known."""
_GIVE_LISTS = frozenset(
    {"split", "tensor_split", "chunk", "unbind", "unstack", "meshgrid", "broadcast_tensors", "list", "tuple", "sorted"}
)
"""Calls that return a list, while the rest of Paddle returns one tensor."""
_DISPLAYS = (ast.List, ast.Tuple, ast.Dict, ast.ListComp, ast.GeneratorExp, ast.DictComp)
_OF_A_TENSOR = ("shape", "ndim", "astype")
"""What a list of tensors does not have."""


class Way(NamedTuple):
    """What a loop goes along, in words.

    ``number``: the name of the number of a pass. ``parts``: the names that get a part of a tensor in each pass, with
    the tensors.
    """

    where: str
    number: str = ""
    parts: Mapping[str, ast.expr] = {}


def way_of(target: ast.expr, over: ast.expr, point: Point) -> Way | None:
    """What a loop goes along; None for anything that may be a list, or may be short."""
    number = ""
    if _is_call(over, "range"):
        return _countedway_of(over, target.id, point) if isinstance(target, ast.Name) else None
    if _is_call(over, "enumerate") and isinstance(target, ast.Tuple) and isinstance(target.elts[0], ast.Name):
        number, target, over = target.elts[0].id, target.elts[1], over.args[0]
    tensors, targets = [over], [target]
    if _is_call(over, "zip") and isinstance(target, ast.Tuple):
        tensors, targets = over.args, target.elts
    parts = {each.id: x for each, x in zip(targets, tensors, strict=False) if isinstance(each, ast.Name)}
    if len(parts) < len(tensors) or not all(_has_equal_parts(x, point) for x in tensors):
        return None
    kind = "parts" if is_split(tensors[0], point) else "samples"
    return Way(f"the {kind} of `{ast.unparse(tensors[0])}`", number, parts)


def _is_call(node: ast.expr, name: str) -> TypeGuard[ast.Call]:
    """Whether an expression calls a function of Python with arguments."""
    return isinstance(node, ast.Call) and dotted(node.func) == name and bool(node.args)


def _countedway_of(call: ast.Call, number: str, point: Point) -> Way | None:
    """The same for a loop over numbers: the axis of a tensor whose length their count is."""
    axis = _counted_by(call.args[0], point) if len(call.args) == 1 else None
    if axis is None:
        count = passes(call, point.place) or 0
        return Way(f"{count} parts", number) if count >= _MANY else None
    if not is_tensor(axis.node, point) or not (axis.by_shape or _is_surely_one(axis.node, point)):
        return None
    name = ast.unparse(axis.node)
    return Way(f"the samples of `{name}`" if axis.number == 0 else f"axis {axis.number} of `{name}`", number)


class _Axis(NamedTuple):
    """The axis of a tensor; ``by_shape``: its length is that of ``x.shape``, which a list does not have."""

    node: ast.expr
    number: int
    by_shape: bool = True


def _counted_by(node: ast.expr, point: Point) -> _Axis | None:
    """The axis whose length an expression is."""
    if isinstance(node, ast.Name):
        found = before(node.id, point.statement, point.scope)
        return _unpacked(found[0].statement, node.id) if len(found) == 1 else None
    return _counted(node)


def _counted(node: ast.expr) -> _Axis | None:
    """The axis of ``len(x)`` and of ``x.shape[1]``."""
    if isinstance(node, ast.Call) and dotted(node.func) == "len" and len(node.args) == 1:
        return _Axis(node.args[0], 0, by_shape=False)
    index = node.slice if isinstance(node, ast.Subscript) else None
    shape = node.value if isinstance(node, ast.Subscript) else None
    if not isinstance(shape, ast.Attribute) or shape.attr != "shape" or not isinstance(index, ast.Constant):
        return None
    return _Axis(shape.value, index.value) if isinstance(index.value, int) else None


def _unpacked(binding: Statement, name: str) -> _Axis | None:
    """The axis whose length a statement gives a name: ``b = x.shape[0]``, ``b, c, h, w = x.shape``."""
    made = plain_assignment(binding.node)
    if made is not None:
        return _counted(made[1])
    for target, value in targets_and_values(binding.node):
        names = [dotted(each) for each in target.elts] if isinstance(target, ast.Tuple) else []
        if name in names and isinstance(value, ast.Attribute) and value.attr == "shape":
            return _Axis(value.value, names.index(name))
    return None


def is_tensor(node: ast.expr, point: Point) -> bool:
    """Whether an expression has the kind of a tensor, and is not made as a list."""
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
    if name is None or len(bindings_of(point.scope).get(name, ())) > 1:
        return name is not None and _is_made(node, point)
    parts = [item for statement in point.scope.statements for item in statement.nodes]
    if any(
        isinstance(item, ast.Call) and dotted(item.func) == "isinstance" and name in map(dotted, item.args)
        for item in parts
    ):
        return False
    asked = (item.value for item in parts if isinstance(item, ast.Attribute) and item.attr in _OF_A_TENSOR)
    return name in map(dotted, asked) or _is_made(node, point)


def _is_made(node: ast.expr, point: Point) -> bool:
    """Whether the only value that a name can have is the tensor that a call returns."""
    made = sole_value(node, point.statement, point.scope)
    return made is not None and isinstance(made[1], ast.Call) and _gives_tensor(made[1], point)


def _has_equal_parts(node: ast.expr, point: Point) -> bool:
    """Whether the parts of something have one size: it is one tensor, or its equal sections."""
    return is_split(node, point) or (is_tensor(node, point) and _is_surely_one(node, point))


def is_split(node: ast.expr, point: Point) -> bool:
    """Whether an expression is a list of equal sections of a tensor: ``x.unbind(1)``, ``x.split(x.shape[1], 1)``."""
    made = sole_value(node, point.statement, point.scope)
    call = made[1] if made is not None else node
    name = terminal(call) if isinstance(call, ast.Call) else ""
    if not isinstance(call, ast.Call) or name not in ("split", "unbind", "unstack"):
        return False
    is_function = point.file.names.qualified(call.func).startswith("paddle.")
    count = argument_of(call, "num_or_sections", 1 if is_function else 0) if name == "split" else None
    is_equal = name != "split" or isinstance(count, ast.Constant) or (count is not None and _counted_by(count, point))
    return bool(is_equal) and Evaluator(point.file, point.full_env).kind(call).is_tensor


def _gives_tensor(call: ast.Call, point: Point) -> bool:
    """Whether a function of Paddle returns one tensor, or a method of a tensor that lists do not have."""
    name, last = point.file.names.qualified(call.func), terminal(call) or ""
    if last in _GIVE_LISTS or not last.islower():
        return False
    owner = call.func.value if isinstance(call.func, ast.Attribute) and not hasattr(list, last) else None
    return name.startswith("paddle.") or (owner is not None and is_tensor(owner, point))
