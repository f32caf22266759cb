"""Finds operations with a result of a size that only the device knows, so that the host waits for it."""

from __future__ import annotations

import ast
from typing import TypeGuard

from perflint.dataflow.evaluate import Evaluator
from perflint.findings import Confidence
from perflint.index.kinds import UNKNOWN_TAG, Kind
from perflint.syntax.names import dotted
from perflint.syntax.parameters import arguments_of
from perflint.syntax.scopes import Scope, headers
from perflint.syntax.tree import walk
from perflint.training.steps import Point, of_point

MASK = "x[mask]"
OPERATIONS = frozenset(
    {"nonzero", "masked_select", "unique", "unique_consecutive", "where", "repeat_interleave", "bincount"}
)
"""Functions of Paddle, some of them only with some of their arguments."""


@of_point
def dynamic_op(point: Point, node: ast.expr) -> tuple[str, Confidence] | None:
    """Which operation of unknown size an expression is, with the confidence; None for any other."""
    evaluator = Evaluator(point.file, point.full_env)
    if isinstance(node, ast.Subscript):
        return _masked(node, point, evaluator)
    if not isinstance(node, ast.Call):
        return None
    owner, _, last = point.file.names.resolve(dotted(node.func) or "").rpartition(".")
    if owner in ("paddle", "paddle.tensor", "paddle.fluid.layers"):
        is_found = last in OPERATIONS and _is_dynamic(last, node.args, node.keywords, evaluator)
        return (last, Confidence.HIGH) if is_found else None
    if not isinstance(node.func, ast.Attribute) or node.func.attr not in OPERATIONS:
        return None
    kind = evaluator.kind(node.func.value)
    if not kind.is_tensor or not _is_dynamic(node.func.attr, [node.func.value, *node.args], node.keywords, evaluator):
        return None
    return node.func.attr, Confidence.MEDIUM if kind.guess else Confidence.HIGH


def mask_of(node: ast.AST) -> ast.AST:
    """What an operation selects by: ``mask`` of ``x[mask]``, ``paddle.masked_select(x, mask)``, ``mask.nonzero()``."""
    if isinstance(node, ast.Subscript):
        return node.slice
    if not isinstance(node, ast.Call):
        return node
    given = arguments_of(node)
    return given[-1] if given else node.func.value if isinstance(node.func, ast.Attribute) else node


def _is_dynamic(name: str, args: list[ast.expr], keywords: list[ast.keyword], evaluator: Evaluator) -> bool:
    if name == "where":
        return len(args) + len(keywords) == 1
    if name == "repeat_interleave":
        repeats = args[1] if len(args) > 1 else next((item.value for item in keywords if item.arg == "repeats"), None)
        return repeats is not None and evaluator.kind(repeats).is_tensor
    return True


def _masked(node: ast.Subscript, point: Point, evaluator: Evaluator) -> tuple[str, Confidence] | None:
    base = evaluator.kind(node.value)
    if not base.is_tensor and base.tag != UNKNOWN_TAG:
        return None
    indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    masks = [kind for index in indices if _is_mask(index, kind := evaluator.kind(index), point.scope)]
    if not masks or (not base.is_tensor and all(mask.guess for mask in masks)):
        return None  # of two values that are not certainly tensors
    is_sure = base.is_tensor and not base.guess and not masks[0].guess
    return MASK, Confidence.HIGH if is_sure else Confidence.MEDIUM


def _is_mask(index: ast.expr, kind: Kind, scope: Scope) -> bool:
    """Whether an index is a tensor of truth values; nobody selects rows by numbers, as in ``x[~numbers]``."""
    if kind.truth or not kind.is_tensor:
        return kind.truth
    return _inverts(index) or dotted(index) in scope.once(_inverted, lambda: _inverted(scope))


def _inverted(scope: Scope) -> frozenset[str]:
    """The names that a function inverts: ``x[~mask]`` shows that ``mask`` has truth values."""
    parts = (part for statement in scope.statements for header in headers(statement.node) for part in walk(header))
    return frozenset(filter(None, (dotted(part.operand) for part in parts if _inverts(part))))


def _inverts(node: ast.AST) -> TypeGuard[ast.UnaryOp]:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert)
