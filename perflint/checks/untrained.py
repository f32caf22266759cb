"""Parts of a forward pass that no training step runs, or that run once: decoding, metrics, values that are kept."""

from __future__ import annotations

import ast

from perflint.syntax.names import dotted, plain_names
from perflint.syntax.tree import walk
from perflint.syntax.vocabulary import (
    decodes,
    evaluates,
    exports,
    is_metric_code,
    is_no_training,
    is_trial,
    means_metric,
    predicts,
    snake,
)
from perflint.training.steps import Point


def is_untrained(point: Point, function: str) -> bool:
    """Whether a statement of a forward pass is one that training does not run at each step.

    Args:
        function: the qualified name of the ``forward`` the statement belongs to (``Net.forward``).
    """
    owner = point.scope.owner.name if point.scope.owner is not None else ""
    classes = [snake(owner), snake(function.rpartition(".")[0])]
    if any(is_no_training(name) or decodes(name) or is_trial(name) for name in [snake(point.scope.name), *classes]):
        return True
    if any(means_metric(name.rpartition("_")[2]) for name in classes) or any(map(is_metric_code, point.file.parts)):
        return True
    return any(
        isinstance(link.node, ast.If)
        and link.branch == "body"
        and (_asks_for_another_run(_asked(link.node.test)) or _is_first_time(link.node.test))
        for link in point.statement.around
    )


def is_in_host_memory(node: ast.expr, point: Point) -> bool:
    """Whether a tensor is worked out from ``paddle.shape(x)`` and the like, which never leave the host."""
    names = plain_names(node)
    sources = [node]
    for statement in point.scope.statements:
        bound = statement.node
        if isinstance(bound, ast.Assign) and _stored(bound.targets) & names:
            sources.append(bound.value)
        elif isinstance(bound, (ast.For, ast.AsyncFor)) and _stored([bound.target]) & names:
            sources.append(bound.iter)
    return any(_asks_for_a_shape(item, point) for source in sources for item in walk(source))


def _stored(targets: list[ast.expr]) -> set[str]:
    return {
        item.id
        for target in targets
        for item in walk(target)
        if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store)
    }


def _asks_for_a_shape(node: ast.AST, point: Point) -> bool:
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Attribute) and node.func.attr in ("numel", "rank") and not node.args:
        return True
    name = point.file.names.resolve(dotted(node.func) or "")
    return name in ("paddle.shape", "paddle.rank", "paddle.numel", "paddle.fluid.layers.shape")


def _asked(test: ast.expr) -> str:
    """The flag a branch asks for, ``""`` where it asks for something else or for its opposite."""
    name = dotted(test.func) if isinstance(test, ast.Call) else dotted(test)
    return (name or "").rpartition(".")[2]


def _asks_for_another_run(flag: str) -> bool:
    return evaluates(flag) or predicts(flag) or decodes(flag) or exports(flag)


def _is_first_time(test: ast.expr) -> bool:
    """``self.grid is None``, ``not hasattr(self, "grid")``, ``not self.initialized``: the value is kept."""
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Is):
        kept = test.comparators[0]
        return (dotted(test.left) or "").startswith("self.") and isinstance(kept, ast.Constant) and kept.value is None
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        asked = test.operand.func if isinstance(test.operand, ast.Call) else test.operand
        name = dotted(asked) or ""
        return name == "hasattr" or name.startswith("self.init")
    return False
