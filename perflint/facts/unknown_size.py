"""Which operations have a result of a size that only the device knows, so that the host waits to learn it."""

from __future__ import annotations

import ast

from perflint.dataflow.evaluate import Evaluator
from perflint.dataflow.values import Values
from perflint.findings import Confidence
from perflint.syntax.names import dotted
from perflint.syntax.scopes import terminal
from perflint.training.steps import Point, of_point

MASK = "x[mask]"
OPERATIONS = frozenset(
    {"nonzero", "masked_select", "unique", "unique_consecutive", "where", "repeat_interleave", "bincount"}
)
"""Functions of Paddle, some of them only with some of their arguments."""
_LOGICAL = frozenset({"logical_and", "logical_or", "logical_not", "logical_xor", "isnan", "isfinite", "isinf"})
COMPARING = _LOGICAL | {"equal", "not_equal", "greater_than", "greater_equal", "less_than", "less_equal"}
"""Functions of Paddle that give a tensor of truth values."""


@of_point
def dynamic_op(point: Point, node: ast.expr) -> tuple[str, Confidence] | None:
    """Which operation of unknown size an expression is, and how sure that is; None for any other."""
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


def _is_dynamic(name: str, args: list[ast.expr], keywords: list[ast.keyword], evaluator: Evaluator) -> bool:
    if name == "where":
        return len(args) + len(keywords) == 1
    if name == "repeat_interleave":
        repeats = args[1] if len(args) > 1 else next((item.value for item in keywords if item.arg == "repeats"), None)
        return repeats is not None and evaluator.kind(repeats).is_tensor
    return True


def _masked(node: ast.Subscript, point: Point, evaluator: Evaluator) -> tuple[str, Confidence] | None:
    base, mask = evaluator.kind(node.value), evaluator.kind(node.slice)
    if not base.is_tensor or not mask.is_tensor or not _is_mask(node.slice, point, evaluator):
        return None
    return MASK, Confidence.MEDIUM if base.guess or mask.guess else Confidence.HIGH


def _is_mask(index: ast.expr, point: Point, evaluator: Evaluator, depth: int = 0) -> bool:
    """Whether an index is a tensor of truth values: a comparison, or what such are put together with."""
    if depth > 4:
        return False
    if isinstance(index, ast.Compare):
        return True
    if isinstance(index, ast.BinOp) and isinstance(index.op, (ast.BitAnd, ast.BitOr)):
        return all(_is_mask(part, point, evaluator, depth + 1) for part in (index.left, index.right))
    if isinstance(index, ast.UnaryOp) and isinstance(index.op, ast.Invert):
        return _is_mask(index.operand, point, evaluator, depth + 1)
    if isinstance(index, ast.Call):
        asked = [item.value for item in index.args if isinstance(item, ast.Constant)]
        return terminal(index) in COMPARING or (terminal(index) in ("astype", "cast") and "bool" in asked)
    name = dotted(index)
    definition = Values.of(point.file.project).definitions(point.file, point.scope).get(name) if name else None
    return definition is not None and _is_mask(definition, point, evaluator, depth + 1)
