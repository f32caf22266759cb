"""The name that counts the steps of a loop, in the loop itself or in a function that it calls."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perflint.flow.calls import CallGraph
from perflint.syntax.bindings import bindings_of
from perflint.syntax.names import dotted
from perflint.syntax.parameters import argument_for
from perflint.syntax.reaching import before
from perflint.syntax.scopes import LOOPS, Loop, Scope, terminal
from perflint.syntax.tree import walk
from perflint.training.branches import counts_steps, loop_count
from perflint.training.evidence import over_batches

if TYPE_CHECKING:
    from perflint.index.project import FileIndex, Project
    from perflint.training.steps import Point

# Finds the step counter of a loop, for the guard that a fix writes.

_NEW_NAMES = ("step", "step_id", "batch_step", "train_step_id")


@dataclass(frozen=True)
class StepIndex:
    """``name`` holds the number of the step.

    ``enumerate`` says that the loop must first get a counter; ``unnamed`` is the ``_`` that ignores the count of an
    ``enumerate`` and has to be renamed.
    """

    name: str
    enumerate: bool = False
    unnamed: ast.Name | None = None


def step_index(scope: Scope, loop: Loop, used: frozenset[str], named: frozenset[str] = frozenset()) -> StepIndex | None:
    """The counter of a step loop: an existing one, or a new one from ``enumerate`` if possible.

    Args:
        used: the names of the file, which a new name must differ from.
        named: the names in the guarded lines; of several counters, one that they show is preferred.
    """
    counters = sorted(counters_of(scope, loop), key=lambda name: name not in named)
    if counters:
        return StepIndex(counters[0])
    if isinstance(loop, (ast.While, ast.AsyncFor)) or not _can_enumerate(loop):
        return None
    new = next((name for name in _NEW_NAMES if name not in used), None)
    if new is None:
        return None
    unnamed = loop_count(loop, _goes_over(scope, loop))
    if unnamed is not None:
        return StepIndex(new, unnamed=unnamed) if unnamed.id == "_" and not _reads(scope, "_") else None
    return StepIndex(new, enumerate=True)


def counters_of(scope: Scope, loop: Loop) -> list[str]:
    """The names that already count the iterations of a loop: its ``enumerate`` or ``range`` target, what it increments.

    Names of step counters come before others (``seen += 1``).
    """
    count = None if isinstance(loop, ast.While) else loop_count(loop, _goes_over(scope, loop))
    found = [count.id] if count is not None and count.id != "_" and not _assignments(loop, count.id) else []
    incremented = [name for name in _incremented(loop.body) if _counts_alone(scope, loop, name)]
    return found + sorted(dict.fromkeys(incremented), key=lambda name: not _is_named_so(name))


def _goes_over(scope: Scope, loop: ast.For | ast.AsyncFor) -> dict[str, ast.expr]:
    """The value of the name that a loop iterates over: ``bar`` of ``bar = tqdm(enumerate(loader))``."""
    statement = next((item for item in scope.statements if item.node is loop), None)
    if statement is None or not isinstance(loop.iter, ast.Name):
        return {}
    found = before(loop.iter.id, statement, scope)
    value = found[0].value if len(found) == 1 and not isinstance(found[0].statement.node, LOOPS) else None
    return {loop.iter.id: value} if value is not None else {}


def _is_named_so(name: str) -> bool:
    return counts_steps(ast.Name(name.rpartition(".")[2]))


def _incremented(body: list[ast.stmt]) -> Iterable[str]:
    """What each iteration increments by one: ``n += 1``, ``n = n + 1``, also in a ``with`` of the loop's own body."""
    for node in body:
        if isinstance(node, (ast.With, ast.AsyncWith)):
            yield from _incremented(node.body)
        name, added = _addition(node)
        if name and isinstance(added, ast.Constant) and added.value == 1:
            yield name


def _addition(node: ast.stmt) -> tuple[str | None, ast.expr | None]:
    """The name that a statement adds something to, and what."""
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
        return dotted(node.target), node.value
    if not isinstance(node, ast.Assign) or len(node.targets) != 1 or not isinstance(node.value, ast.BinOp):
        return None, None
    name, value = dotted(node.targets[0]), node.value
    if name is None or not isinstance(value.op, ast.Add):
        return None, None
    if dotted(value.left) == name:
        return name, value.right
    return (name, value.left) if dotted(value.right) == name else (None, None)


def _counts_alone(scope: Scope, loop: Loop, name: str) -> bool:
    """Whether a name grows only by that addition: a second one, here or in a method, could skip every tenth value."""
    if _assignments(loop, name) != 1:
        return False
    _, _, attribute = name.rpartition(".")
    if attribute == name:
        return True
    top = scope
    while top.parent is not None:
        top = top.parent
    own = {item for item in walk(loop) if isinstance(item, ast.stmt)}
    return not any(
        target is not None and target.endswith(f".{attribute}")
        for item in walk(top.node)
        if isinstance(item, (ast.Assign, ast.AugAssign)) and item not in own
        for target, _ in (_addition(item),)
    )


def _reads(scope: Scope, name: str) -> bool:
    return any(
        isinstance(item, ast.Name) and item.id == name and isinstance(item.ctx, ast.Load) for item in walk(scope.node)
    )


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
    """Whether a loop can get an ``enumerate``: over batches, a plain name or a call, without star unpacking."""
    starred = any(isinstance(item, ast.Starred) for item in walk(loop.target))
    if isinstance(loop.iter, ast.Tuple):  # without its parentheses it would become several arguments
        return False
    return not starred and (over_batches(loop) or isinstance(loop.iter, (ast.Name, ast.Attribute, ast.Call)))


# Finds the counter of a step loop in a helper: a parameter, or an attribute of one object.


def handed_counter(project: Project, point: Point) -> str | None:
    """The name that counts the steps in a function that a step loop calls, None if none is certain.

    ``def log(self, loss, step)`` called as ``self.log(loss, step)`` in ``for step, x in enumerate(loader)``: ``step``.
    A parameter counts if the only call of the function passes the counter; ``self.iteration`` counts if each call on
    the path is one on ``self``.
    """
    step = point.step
    if step is None or not step.line or not step.via:
        return None
    found = _loop_at(project, step.path, step.line)
    if found is None:
        return None
    caller, loop = found
    known = set(counters_of(caller, loop))
    places = [*((project.files[path], _calling(project, path, line)) for path, line in step.via[1:])]
    for (path, line), (file, called) in zip(step.via, [*places, (point.file, point.scope)], strict=True):
        if called is None or not known:
            return None
        call = _call_at(project, path, line, called)
        known = _handed(file, known, call, called) if call is not None else set()
    return min(known, default=None)


def _loop_at(project: Project, path: str, line: int) -> tuple[Scope, Loop] | None:
    for scope in project.files[path].scopes.scopes:
        for statement in scope.statements:
            if isinstance(statement.node, LOOPS) and statement.node.lineno == line:
                return scope, statement.node
    return None


def _calling(project: Project, path: str, line: int) -> Scope | None:
    """The function with a call at a row."""
    for scope in project.files[path].scopes.scopes:
        if any(call.lineno == line for statement in scope.statements for call in statement.calls):
            return scope
    return None


def _call_at(project: Project, path: str, line: int, called: Scope) -> ast.Call | None:
    """The only call at a row that can reach a function."""
    name = called.owner.name if called.owner is not None and called.name == "__init__" else called.name
    found = [
        call
        for scope in project.files[path].scopes.scopes
        for statement in scope.statements
        for call in statement.calls
        if call.lineno == line and terminal(call) == name
    ]
    return found[0] if len(found) == 1 else None


def _handed(file: FileIndex, known: set[str], call: ast.Call, called: Scope) -> set[str]:
    bound = bindings_of(called).keys()
    handed: set[str] = set()
    if len(CallGraph.of(file.project).callers(file, called)) == 1:
        for parameter in called.parameters:
            argument = argument_for(called, call, parameter)
            if argument is not None and _counts(argument, known):
                handed.add(parameter)
    if dotted(call.func) == f"self.{called.name}":
        handed |= {name for name in known if name.startswith("self.")}
    return handed - bound


def _counts(node: ast.expr, known: set[str]) -> bool:
    """Whether an expression is a counter, or a counter plus a whole number."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        added = node.right
        return isinstance(added, ast.Constant) and isinstance(added.value, int) and _counts(node.left, known)
    return dotted(node) in known
