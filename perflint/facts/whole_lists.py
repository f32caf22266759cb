"""Finds lists of values that a loop reads repeatedly while they grow, so that a running sum should replace them.

After ``losses.append(loss)``, ``np.mean(losses)`` at every tenth step would read each tensor of the list again.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from perflint.dataflow.dispatch import Dispatch
from perflint.facts.accumulators import Use
from perflint.facts.lifetimes import outlives_the_step
from perflint.index.project import FileIndex
from perflint.query import query
from perflint.syntax.names import dotted
from perflint.syntax.scopes import Scope, terminal
from perflint.syntax.tree import walk
from perflint.training.steps import Point

_SUMMARIES = frozenset({"sum", "mean", "average", "median", "fsum", "nanmean"})


def is_summed_while_it_grows(target: ast.expr, uses: Iterable[Use], point: Point) -> bool:
    """Whether a loop sums a list that it adds to and never empties.

    Args:
        target: the list, as a statement of the loop adds to it.
        uses: where the loop mentions it.
        point: that statement.
    """
    return any(map(_is_summary, uses)) and outlives_the_step(target, point)


def sums_all_it_keeps(call: ast.Call, point: Point) -> bool:
    """Whether the method that a call reaches puts its argument into a list, and sums the whole list."""
    targets = Dispatch.of(point.file.project).targets(point.file, point.scope, call, point.full_env)
    return bool(targets) and all(target.sure and _sums_own_list(target.file, target.scope) for target in targets)


def _is_summary(use: Use) -> bool:
    parent = use.parent
    return isinstance(parent, ast.Call) and use.node in parent.args and terminal(parent) in _SUMMARIES


@query
def _sums_own_list(_: FileIndex, method: Scope) -> bool:
    """Whether one method has ``self.values.append(value)`` and ``sum(self.values)``."""
    calls = [item for item in walk(method.node) if isinstance(item, ast.Call)]
    appended = {
        dotted(call.func.value) for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr == "append"
    }
    summed = {dotted(argument) for call in calls if terminal(call) in _SUMMARIES for argument in call.args[:1]}
    return any(name is not None and name.startswith("self.") for name in appended & summed)
