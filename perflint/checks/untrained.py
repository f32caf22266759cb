"""Recognizes parts of a forward pass that no training step runs, or that run once: decoding, metrics, cached values."""

from __future__ import annotations

import ast

from perflint.syntax import vocabulary
from perflint.syntax.names import dotted
from perflint.syntax.scopes import terminal
from perflint.training.steps import Point

_NO_TRAINING = (vocabulary.is_no_training, vocabulary.decodes, vocabulary.is_trial)
_OTHER_RUNS = (vocabulary.evaluates, vocabulary.predicts, vocabulary.decodes, vocabulary.exports)


def is_untrained(point: Point, function: str) -> bool:
    """Whether a statement of a forward pass (``function``: ``Net.forward``) does not run at each training step."""
    owner = point.scope.owner.name if point.scope.owner is not None else ""
    names = [vocabulary.snake(name) for name in (point.scope.name, owner, function.rpartition(".")[0])]
    if any(says(name) for name in names for says in _NO_TRAINING):
        return True
    if any(vocabulary.means_metric(name.rpartition("_")[2]) for name in names[1:]):
        return True
    return any(map(vocabulary.is_metric_code, point.file.parts)) or any(
        any(asks(_asked(test)) for asks in _OTHER_RUNS) or _is_first_time(test, point) for test in point.statement.tests
    )


def _asked(test: ast.expr) -> str:
    """The flag that a branch tests, ``""`` if it tests something else or the opposite."""
    name = dotted(test.func) if isinstance(test, ast.Call) else dotted(test)
    return (name or "").rpartition(".")[2]


def _is_first_time(test: ast.expr, point: Point) -> bool:
    """Whether a test is about a cached value: ``self.grid is None``, ``not hasattr(self, "grid")``."""
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Is):
        kept = test.comparators[0]
        if not isinstance(kept, ast.Constant) or kept.value is not None:
            return False
        name = dotted(test.left) or ""
        return name.startswith("self.") or _is_looked_up(name, point)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        asked = test.operand.func if isinstance(test.operand, ast.Call) else test.operand
        name = dotted(asked) or ""
        return name == "hasattr" or name.startswith("self.init")
    return False


def _is_looked_up(name: str, point: Point) -> bool:
    """Whether a name is bound to an entry of a table that may be missing: ``grid = grids.get(size)``."""
    nodes = (statement.node for statement in point.scope.statements)
    values = [node.value for node in nodes if isinstance(node, ast.Assign) and name in map(dotted, node.targets)]
    return any(isinstance(value, ast.Call) and terminal(value) == "get" for value in values)
