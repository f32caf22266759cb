"""The name that counts the steps of a loop, for the guard that a fix writes."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from perflint.index.names import dotted
from perflint.index.scopes import LOOPS, Loop, Scope
from perflint.index.training import over_batches
from perflint.index.tree import walk

_NEW_NAMES = ("step", "step_id", "batch_step", "train_step_id")


@dataclass(frozen=True)
class StepIndex:
    """``name`` holds the number of the step.

    ``enumerate`` says that the loop must first be made to count; ``unnamed`` is the ``_`` that throws the count of
    an ``enumerate`` away and has to take the name.
    """

    name: str
    enumerate: bool = False
    unnamed: ast.Name | None = None


def step_index(scope: Scope, loop: Loop, used: frozenset[str]) -> StepIndex | None:
    """The counter of a step loop: its ``enumerate`` or ``range`` target, a name it increments, or a new one.

    Args:
        used: the names of the file, which a new name must not be one of.
    """
    name = _target(loop) or _incremented(scope, loop)
    if name is not None:
        return StepIndex(name)
    if isinstance(loop, (ast.While, ast.AsyncFor)) or not _can_enumerate(loop):
        return None
    new = next((name for name in _NEW_NAMES if name not in used), None)
    if new is None:
        return None
    unnamed = _count(loop)
    if unnamed is not None:
        return StepIndex(new, unnamed=unnamed) if unnamed.id == "_" and not _reads(scope, "_") else None
    return StepIndex(new, enumerate=True)


def _target(loop: Loop) -> str | None:
    target = _count(loop)
    return None if target is None or target.id == "_" or _rebound(loop, target.id) else target.id


def _count(loop: Loop) -> ast.Name | None:
    """The target that an ``enumerate`` or a ``range`` counts with, also inside ``tqdm``."""
    if isinstance(loop, ast.While):
        return None
    iterated: ast.expr = loop.iter
    while isinstance(iterated, ast.Call):
        function = (dotted(iterated.func) or "").rpartition(".")[2]
        target: ast.expr | None = None
        if function == "enumerate" and isinstance(loop.target, ast.Tuple):
            target = loop.target.elts[0]
        elif function in ("range", "trange"):
            target = loop.target
        elif function == "tqdm" and iterated.args:
            iterated = iterated.args[0]
            continue
        return target if isinstance(target, ast.Name) else None
    return None


def _incremented(scope: Scope, loop: Loop) -> str | None:
    for node in loop.body:
        if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add) and isinstance(node.value, ast.Constant):
            name = dotted(node.target)
            if node.value.value == 1 and name and _assignments(loop, name) == 1:
                return name
    return None


def _reads(scope: Scope, name: str) -> bool:
    return any(
        isinstance(item, ast.Name) and item.id == name and isinstance(item.ctx, ast.Load) for item in walk(scope.node)
    )


def _rebound(loop: Loop, name: str) -> bool:
    return _assignments(loop, name) > 0


def _assignments(loop: Loop, name: str) -> int:
    count = 0
    for node in loop.body:
        for item in walk(node):
            targets: list[ast.expr] = []
            if isinstance(item, ast.Assign):
                targets = item.targets
            elif isinstance(item, (ast.AugAssign, ast.AnnAssign, ast.NamedExpr, *LOOPS[:2])):
                targets = [item.target]
            elif isinstance(item, (ast.With, ast.AsyncWith)):
                targets = [part.optional_vars for part in item.items if part.optional_vars is not None]
            count += sum(
                name == dotted(part) for target in targets for part in walk(target) if isinstance(part, ast.expr)
            )
    return count


def _can_enumerate(loop: ast.For) -> bool:
    """A loop over batches, or over what a plain name or call gives; not one that unpacks with a star."""
    starred = any(isinstance(item, ast.Starred) for item in walk(loop.target))
    if isinstance(loop.iter, ast.Tuple):  # without its parentheses it would become several arguments
        return False
    return not starred and (over_batches(loop) or isinstance(loop.iter, (ast.Name, ast.Attribute, ast.Call)))
