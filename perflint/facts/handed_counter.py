"""Finds the counter of a step loop in a helper: a parameter, or an attribute of one object."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from perflint.dataflow.call_graph import CallGraph
from perflint.facts.step_index import counters_of
from perflint.syntax.bindings import bindings_of
from perflint.syntax.names import dotted
from perflint.syntax.parameters import argument_for
from perflint.syntax.scopes import LOOPS, Loop, Scope, terminal

if TYPE_CHECKING:
    from perflint.index.project import FileIndex, Project
    from perflint.training.steps import Point


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
    if len(CallGraph.of(file.project).calls(file, called)) == 1:
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
