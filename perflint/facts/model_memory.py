"""Finds tensors in the memory of a model that steps write to: parameters, buffers, and the values of a state dict.

``layer.parameters()[0].detach()`` shows what the optimizer has written there last, however early it was stored.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from perflint.dataflow.evaluate import Evaluator
from perflint.index.kinds import LAYER_TAG
from perflint.syntax.names import dotted
from perflint.syntax.reaching import before
from perflint.syntax.scopes import terminal
from perflint.syntax.tree import string_of
from perflint.training.steps import Point, of_point

_GIVE = frozenset({"parameters", "named_parameters", "buffers", "named_buffers", "state_dict", "create_parameter"})
_PASS_ON = frozenset({"list", "tuple", "next", "iter", "enumerate", "zip", "reversed", "sorted"})
"""Functions that return the tensors in their arguments."""

_SHARE = frozenset(
    {"detach", "cpu", "cuda", "numpy", "item", "tolist", "reshape", "flatten", "squeeze", "unsqueeze", "view"}
    | {"items", "values", "get"}
)
"""Methods whose result shares the memory of the tensor, or is read from it, and those that return a dict's values."""

_OF_LAYERS = frozenset({"weight", "bias", "_mean", "_variance"})
_DEEPEST = 4


@of_point
def is_part_of_a_model(point: Point, tensor: ast.expr) -> bool:
    """Whether an expression of a statement is a parameter or a buffer, which later steps change in place."""
    return _is_part(tensor, point, 0)


def _is_part(node: ast.expr, point: Point, depth: int) -> bool:
    while not isinstance(node, ast.Name):
        if isinstance(node, ast.Subscript):
            node = node.value
        elif isinstance(node, ast.Attribute):
            return _is_part_of_object(node, point)
        elif not isinstance(node, ast.Call) or terminal(node) in _GIVE:
            return isinstance(node, ast.Call)
        elif isinstance(node.func, ast.Attribute) and node.func.attr in _SHARE:
            node = node.func.value
        elif terminal(node) in _PASS_ON and node.args:
            node = node.args[0]
        else:
            return False
    return depth < _DEEPEST and any(_is_part(value, point, depth + 1) for value in _values(node.id, point))


def _values(name: str, point: Point) -> Iterator[ast.expr]:
    """The values of a name, if the function has all of them."""
    for binding in before(name, point.statement, point.scope):
        if binding.value is not None:
            yield binding.value


def _is_part_of_object(node: ast.Attribute, point: Point) -> bool:
    """Whether an attribute is a parameter or a buffer: ``self.linear.weight``, ``self.theta`` that a class creates."""
    if node.attr in _OF_LAYERS and Evaluator(point.file, point.full_env).kind(node.value).tag == LAYER_TAG:
        return True
    owner = point.scope.owner
    if dotted(node.value) != "self" or owner is None:
        return False
    made = (value for value, _ in owner.attributes.get(node.attr, ()))
    if any(isinstance(value, ast.Call) and terminal(value) in _GIVE for value in made):
        return True
    return any(
        terminal(call) == "register_buffer" and bool(call.args) and string_of(call.args[0]) == node.attr
        for method in owner.methods.values()
        for call in method.calls
    )
