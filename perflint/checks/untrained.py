"""Parts of a forward pass that no training step runs, or that run once: decoding, metrics, values that are kept."""

from __future__ import annotations

import ast

from perflint.syntax import vocabulary
from perflint.syntax.bindings import targets_and_values
from perflint.syntax.names import dotted, plain_names, stored_names
from perflint.syntax.tree import walk
from perflint.training.steps import Point

_NO_TRAINING = (vocabulary.is_no_training, vocabulary.decodes, vocabulary.is_trial)
_OTHER_RUNS = (vocabulary.evaluates, vocabulary.predicts, vocabulary.decodes, vocabulary.exports)


def is_untrained(point: Point, function: str) -> bool:
    """Whether a statement of a forward pass (``function``: ``Net.forward``) is none that each training step runs."""
    owner = point.scope.owner.name if point.scope.owner is not None else ""
    names = [vocabulary.snake(name) for name in (point.scope.name, owner, function.rpartition(".")[0])]
    if any(says(name) for name in names for says in _NO_TRAINING):
        return True
    if any(vocabulary.means_metric(name.rpartition("_")[2]) for name in names[1:]):
        return True
    return any(map(vocabulary.is_metric_code, point.file.parts)) or any(
        any(asks(_asked(test)) for asks in _OTHER_RUNS) or _is_first_time(test) for test in point.statement.tests
    )


def is_in_host_memory(node: ast.expr, point: Point) -> bool:
    """Whether a tensor is worked out from ``paddle.shape(x)`` and the like, which never leave the host."""
    names = plain_names(node)
    sources = [node]
    for statement in point.scope.statements:
        if isinstance(statement.node, (ast.Assign, ast.For, ast.AsyncFor)):
            bound = targets_and_values(statement.node)
            sources += [value for target, value in bound if value is not None and stored_names(target) & names]
    return any(_asks_for_a_shape(item, point) for source in sources for item in walk(source))


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
