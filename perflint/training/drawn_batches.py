"""Finds what a training step draws its batches from: the generators and the iterable objects of the project."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from perflint.dataflow.call_graph import CallGraph
from perflint.dataflow.dispatch import Dispatch, Target
from perflint.dataflow.evaluate import Env, Evaluator
from perflint.dataflow.flow import is_generator
from perflint.dataflow.values import Values
from perflint.index.kinds import EITHER, OBJECT_TAG
from perflint.index.modules import Modules
from perflint.syntax.names import dotted
from perflint.syntax.scopes import Loop, Scope, terminal

if TYPE_CHECKING:
    from perflint.index.project import FileIndex

_PASSED_THROUGH = frozenset({"enumerate", "zip", "iter", "tqdm", "track", "islice", "reversed"})
_MAX_DEPTH = 4


@dataclass(frozen=True)
class Drawn:
    """Code that runs each time something is drawn.

    ``made`` is the call that creates a generator, and ``env`` the kinds of names there; None for a method of an object,
    which has no arguments. ``at`` is the place that draws from it.
    """

    target: Target
    made: ast.Call | None
    env: Env
    at: ast.expr


def drawn_by_loop(file: FileIndex, scope: Scope, loop: Loop, env: Env) -> Iterator[Drawn]:
    """What runs in each iteration of ``for batch in ...``; nothing for a ``while``: see its ``next`` calls."""
    return iter(()) if isinstance(loop, ast.While) else _of(file, scope, loop.iter, env, 0)


def drawn_by_next(file: FileIndex, scope: Scope, call: ast.Call, env: Env) -> list[Drawn]:
    """What runs in ``next(batches)``; empty for every other call."""
    is_next = isinstance(call.func, ast.Name) and call.func.id == "next" and call.args
    return list(_of(file, scope, call.args[0], env, 0)) if is_next else []


def _of(file: FileIndex, scope: Scope, node: ast.expr, env: Env, depth: int) -> Iterator[Drawn]:
    if depth > _MAX_DEPTH:
        return
    if isinstance(node, ast.Call):
        yield from _of_call(file, scope, node, env, depth)
    else:
        yield from _held(file, scope, node, env, depth)
        yield from _methods(file, node, env)


def _of_call(file: FileIndex, scope: Scope, call: ast.Call, env: Env, depth: int) -> Iterator[Drawn]:
    """A call of a generator, one that creates an iterable object, or one around them (``enumerate(batches())``)."""
    passes = terminal(call) in _PASSED_THROUGH and dotted(call.func) is not None
    targets = [] if passes else Dispatch.of(file.project).targets(file, scope, call, env)
    yield from (Drawn(target, call, env, call) for target in targets if is_generator(target.scope))
    if not passes:
        yield from _methods(file, call, env)
    for argument in call.args:
        if passes or isinstance(argument, ast.Call):
            yield from _of(file, scope, argument, env, depth + 1)


def _held(file: FileIndex, scope: Scope, node: ast.expr, env: Env, depth: int) -> Iterator[Drawn]:
    """The generator that a name bound once, or an attribute of the object, refers to."""
    name, project = dotted(node), file.project
    if name is None:
        return
    value = Values.of(project).own_definitions(scope).get(name)
    if value is None and name.startswith("self.") and scope.owner is not None:
        kept = scope.owner.attributes.get(name[5:], [])
        if len(kept) != 1:
            return
        value, scope = kept[0]
        env = Values.of(project).base_env(file, scope, CallGraph.of(project).handed(file, scope))
    if isinstance(value, ast.Call):
        for source in _of(file, scope, value, env, depth + 1):
            yield replace(source, at=node)


def _methods(file: FileIndex, node: ast.expr, env: Env) -> Iterator[Drawn]:
    """``__iter__`` of an object if it yields, else ``__next__``."""
    kind, modules = Evaluator(file, env).kind(node), Modules.of(file.project)
    for part in kind.type.split(EITHER) if kind.tag == OBJECT_TAG else ():
        found = modules.method(part, "__iter__")
        if found is None or not is_generator(found[1]):
            found = modules.method(part, "__next__")
        if found is not None:
            yield Drawn(Target(*found), None, env, node)
