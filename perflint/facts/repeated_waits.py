"""Finds reads that make the host wait repeatedly in one step, because the device gets work between two of them.

``for x in batch: if (x > 0).any(): ...`` waits in each iteration. ``for loss in losses: loss.item()`` waits for the
device once: after the first iteration, everything that the others read is computed.
"""

from __future__ import annotations

import ast

from perflint.index.project import Project
from perflint.syntax.names import names_in
from perflint.syntax.reaching import before
from perflint.syntax.scopes import Scope, Statement, terminal
from perflint.syntax.tree import walk
from perflint.training.repeats import Repeat, is_at_each_pass
from perflint.training.steps import Point, Step

_PICKS = frozenset({"items", "keys", "values"})
"""Methods that return the entries of a dict, such as one of losses."""
_GIVES_WHAT_IS_THERE = frozenset(
    {"item", "numpy", "tolist", "cpu", "detach", "float", "int", "bool", "array", "asarray", "len", "str", "format"}
    | {"astype", "cast", "reshape", "squeeze", "flatten", "mean", "sum", "get", "range", "enumerate", "zip", "round"}
)
"""Calls that read a value, or give the device almost nothing to do."""
_FEW = 8


def waits_again(project: Project, point: Point, step: Step, node: ast.expr, repeat: Repeat) -> bool:
    """Whether an expression waits in each of many iterations of a loop, for the work of that iteration.

    Args:
        project: the project of the statement.
        point: the facts at the statement.
        step: the step that it belongs to.
        node: what is read.
        repeat: the loop inside the step that repeats it.
    """
    goes_over = _gone_over(repeat[1])
    if goes_over is None or _has_few(goes_over) or not is_at_each_pass(project, point, step, repeat):
        return False
    if any("param" in name.lower() for name in names_in(goes_over)):
        return True
    is_dict = isinstance(goes_over, ast.Call) and terminal(goes_over) in _PICKS
    return not is_dict and _is_worked_out(node, point.statement, point.scope, repeat[1])


def _gone_over(loop: ast.stmt | ast.expr) -> ast.expr | None:
    """The iterable of a loop or a comprehension."""
    if isinstance(loop, (ast.For, ast.AsyncFor)):
        return loop.iter
    generators = getattr(loop, "generators", [])
    return generators[0].iter if generators else None


def _has_few(node: ast.expr) -> bool:
    """Whether a loop is known to have few iterations: ``for x in (a, b)``, ``for i in range(2)``."""
    if isinstance(node, (ast.Tuple, ast.List)):
        return len(node.elts) < _FEW
    if isinstance(node, ast.Call) and terminal(node) in ("enumerate", "zip"):
        return any(map(_has_few, node.args))
    last = node.args[-1] if isinstance(node, ast.Call) and terminal(node) == "range" and node.args else None
    return isinstance(last, ast.Constant) and isinstance(last.value, int) and last.value < _FEW


def _is_worked_out(node: ast.expr, statement: Statement, scope: Scope, loop: ast.AST) -> bool:
    """Whether the device computes in an iteration what is read there, possibly through a name bound earlier in it."""
    if _works(node):
        return True
    within = set(walk(loop)) if statement.node in walk(loop) else None
    return any(
        binding.value is not None and _works(binding.value)
        for item in walk(node)
        if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Load)
        for binding in before(item.id, statement, scope)
        if within is None or binding.statement.node in within
    )


def _works(node: ast.expr) -> bool:
    return any(
        isinstance(item, (ast.BinOp, ast.Compare))
        or (isinstance(item, ast.Call) and terminal(item) not in _GIVES_WHAT_IS_THERE)
        for item in walk(node)
    )
