"""Epoch loops: what runs once per epoch, between the step loops."""

from __future__ import annotations

import ast

from perflint.syntax.scopes import LOOPS, Loop, Statement
from perflint.syntax.tree import walk
from perflint.syntax.vocabulary import means_epoch
from perflint.training import around, evidence

_CHOOSES = (ast.Mod, ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def loop_of(statement: Statement) -> Loop | None:
    """The loop over epochs that runs a statement each time, None if there is none or a guard is in between."""
    for link in statement.around:
        if link.branch == "body" and isinstance(link.node, LOOPS):
            loop: Loop = link.node
            if evidence.counts_epochs(loop):
                return None if _guarded(statement, loop) else loop
            return None
    return None


def _guarded(statement: Statement, loop: Loop) -> bool:
    if around.HotPath({}).is_off(statement.place, loop):
        return True
    # Some tests that are not guards for a step are guards for an epoch: ``epoch % k``, and whether the model has
    # improved.
    for link in statement.around:
        if link.node is loop:
            return False
        if isinstance(link.node, ast.If) and any(_chooses(item) for item in walk(link.node.test)):
            return True
    return False


def _chooses(node: ast.AST) -> bool:
    """Whether a part of a test selects some epochs: ``epoch % k``, a comparison of sizes, ``epoch == last``."""
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.Eq, ast.In)):
        return any(isinstance(item, ast.Name) and means_epoch(item.id) for item in walk(node))
    return isinstance(node, _CHOOSES)
