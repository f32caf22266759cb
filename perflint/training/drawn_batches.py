"""What a training step draws its batches from: the generators and the iterable objects of the project."""

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
from perflint.syntax.scopes import Loop, Scope

if TYPE_CHECKING:
    from perflint.index.project import FileIndex, Project

_PASSED_THROUGH = frozenset({"enumerate", "zip", "iter", "tqdm", "track", "islice", "reversed"})
_MAX_DEPTH = 4


@dataclass(frozen=True)
class Drawn:
    """Code that runs each time something is drawn.

    ``made`` is the call that hands a generator its arguments, and ``env`` what is known there; None for a method of
    an object, which gets none.  ``at`` is where it is drawn from.
    """

    target: Target
    made: ast.Call | None
    env: Env
    at: ast.expr


class Drawing:
    """Finds what runs inside of ``for batch in ...`` and ``next(...)``."""

    def __init__(self, project: Project) -> None:
        self._project = project

    def by_loop(self, file: FileIndex, scope: Scope, loop: Loop, env: Env) -> list[Drawn]:
        """What a loop draws from; nothing for a ``while``, whose ``next`` calls are asked one by one."""
        return [] if isinstance(loop, ast.While) else list(self._of(file, scope, loop.iter, env, 0))

    def by_next(self, file: FileIndex, scope: Scope, call: ast.Call, env: Env) -> list[Drawn]:
        """What ``next(batches)`` draws from; empty for every other call."""
        if not (isinstance(call.func, ast.Name) and call.func.id == "next" and call.args):
            return []
        return list(self._of(file, scope, call.args[0], env, 0))

    def _of(self, file: FileIndex, scope: Scope, node: ast.expr, env: Env, depth: int) -> Iterator[Drawn]:
        if depth > _MAX_DEPTH:
            return
        if isinstance(node, ast.Call):
            yield from self._of_call(file, scope, node, env, depth)
        else:
            yield from self._held(file, scope, node, env, depth)
            yield from self._methods(file, node, env)

    def _of_call(self, file: FileIndex, scope: Scope, call: ast.Call, env: Env, depth: int) -> Iterator[Drawn]:
        """A call of a generator, one that makes an iterable object, or one around them (``enumerate(batches())``)."""
        passes = (dotted(call.func) or "").rpartition(".")[2] in _PASSED_THROUGH
        targets = [] if passes else Dispatch.of(self._project).targets(file, scope, call, env)
        yield from (Drawn(target, call, env, call) for target in targets if is_generator(target.scope))
        if not passes:
            yield from self._methods(file, call, env)
        for argument in call.args:
            if passes or isinstance(argument, ast.Call):
                yield from self._of(file, scope, argument, env, depth + 1)

    def _held(self, file: FileIndex, scope: Scope, node: ast.expr, env: Env, depth: int) -> Iterator[Drawn]:
        """The generator that a name, bound once, or an attribute of the object stands for."""
        name = dotted(node)
        if name is None:
            return
        value = Values.of(self._project).own_definitions(scope).get(name)
        if value is None and name.startswith("self.") and scope.owner is not None:
            kept = scope.owner.attributes.get(name[5:], [])
            if len(kept) != 1:
                return
            value, scope = kept[0]
            env = Values.of(self._project).base_env(file, scope, CallGraph.of(self._project).handed(file, scope))
        if isinstance(value, ast.Call):
            for source in self._of(file, scope, value, env, depth + 1):
                yield replace(source, at=node)

    def _methods(self, file: FileIndex, node: ast.expr, env: Env) -> Iterator[Drawn]:
        """``__iter__`` of an object where that yields, else ``__next__``."""
        kind = Evaluator(file, env).kind(node)
        for part in kind.type.split(EITHER) if kind.tag == OBJECT_TAG else ():
            found = Modules.of(self._project).method(part, "__iter__")
            if found is None or not is_generator(found[1]):
                found = Modules.of(self._project).method(part, "__next__")
            if found is not None:
                yield Drawn(Target(*found), None, env, node)
