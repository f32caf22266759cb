"""Statements that may never run: after a failure, or under a test that only data or a configuration decides."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from perflint.flow.switches import Switches
from perflint.syntax.names import dotted
from perflint.syntax.scopes import Scope, Statement, statements_calling
from perflint.syntax.tree import base_of
from perflint.training.steps import Point

if TYPE_CHECKING:
    from perflint.index.project import FileIndex, Project
    from perflint.training.steps import Step

# Finds tests around a statement that only a configuration or the data decide, so that it may never run.

_ARMS = ("body", "else")


def is_doubtful(statement: Statement, scope: Scope, file: FileIndex) -> bool:
    """Whether a test around a statement cannot be decided from the code, or is false by default.

    Such a test is about selected parts, different shapes, the type of a value, or a kind of device. Or it is ``if
    args.ortho > 0:`` for an option that is 0 by default.
    """
    tests = [link.node.test for link in statement.around if isinstance(link.node, ast.If) and link.branch in _ARMS]
    if any(_only_data_decides(test, scope) for test in tests):
        return True
    return bool(tests) and Switches.of(file.project).is_off_by_default(statement, scope, file)


def is_doubtful_on_the_way(project: Project, step: Step) -> bool:
    """Whether one of the calls that lead from a step loop to a helper is doubtful."""
    return any(
        is_doubtful(statement, scope, project.files[path])
        for path, line in step.via
        for scope, statement in statements_calling(project.files[path].scopes, line)
    )


def _only_data_decides(test: ast.expr, scope: Scope) -> bool:
    if isinstance(test, ast.BoolOp):
        return any(_only_data_decides(part, scope) for part in test.values)
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return False
    operator, right = test.ops[0], test.comparators[0]
    if isinstance(operator, (ast.In, ast.NotIn)):
        is_text = isinstance(test.left, ast.Constant) and isinstance(test.left.value, str)
        return is_text and (_is_handed_in(right, scope) or _gives_devices(right))
    if isinstance(operator, (ast.Is, ast.IsNot)):
        return _is_type(right)
    return isinstance(operator, (ast.Eq, ast.NotEq)) and (
        _is_type(right) or (_is_shape(test.left) and _is_shape(right))
    )


def _is_type(node: ast.expr) -> bool:
    """Whether an expression is the type of tensors or of arrays: ``type(boxes) == np.ndarray``."""
    return isinstance(node, ast.Attribute) and node.attr in ("ndarray", "Tensor")


def _gives_devices(node: ast.expr) -> bool:
    """Whether an expression is like ``paddle.device.get_all_custom_device_type()``."""
    return isinstance(node, ast.Call) and "custom_device" in (dotted(node.func) or "")


def _is_handed_in(node: ast.expr, scope: Scope) -> bool:
    """Whether an expression is like ``self.parts``, passed to ``__init__``: a list from a configuration file."""
    name = dotted(node) or ""
    if not name.startswith("self.") or scope.owner is None:
        return False
    assigned = scope.owner.attributes.get(name[5:], [])
    return bool(assigned) and all(
        made.name == "__init__" and isinstance(value, ast.Name) and value.id in made.parameters
        for value, made in assigned
    )


def _is_shape(node: ast.expr) -> bool:
    base = base_of(node)
    return isinstance(base, ast.Attribute) and base.attr == "shape"


# Finds unreachable statements, because an earlier one in the function fails in Paddle.
#
# PyTorch's ``max`` along an axis returns values and indices, Paddle's returns one tensor. So nothing after ``values,
# where = paddle.max(x, 2)`` runs, unless ``x`` happens to have two rows.

_ONE_TENSOR = frozenset({"paddle.max", "paddle.min", "paddle.sort"})
_PAIR = 2


def follows_a_failure(point: Point) -> bool:
    """Whether an earlier statement of the function, which always runs before this one, fails."""
    scope = point.scope
    if isinstance(scope.node, ast.Module):
        return False
    resolve = point.file.names.resolve
    return any(
        statement.start < point.statement.start and resolve(called) in _ONE_TENSOR
        for statement, called in scope.once(_pairs, lambda: _pairs(scope))
    )


def _pairs(scope: Scope) -> list[tuple[Statement, str]]:
    """The top-level statements that unpack a pair from a call along an axis, and what they call."""
    outer = (statement for statement in scope.statements if statement.place is None or not any(statement.around))
    return [(statement, called) for statement in outer if (called := _pair_from(statement.node))]


def _pair_from(node: ast.stmt) -> str:
    """``paddle.max`` of ``values, where = paddle.max(x, axis=2)``; ``""`` for any other statement."""
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call) or len(node.targets) != 1:
        return ""
    target, call = node.targets[0], node.value
    is_pair = isinstance(target, ast.Tuple) and len(target.elts) == _PAIR
    has_axis = len(call.args) == _PAIR or any(item.arg == "axis" for item in call.keywords)
    return (dotted(call.func) or "") if is_pair and has_axis else ""
