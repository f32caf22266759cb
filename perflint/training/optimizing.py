"""Which functions and files take optimizer steps."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from perflint.dataflow.values import Values
from perflint.index.project import FileIndex, Project
from perflint.query import query
from perflint.syntax.names import dotted
from perflint.syntax.scopes import Scope
from perflint.training import evidence


@query
def optimizes(file: FileIndex) -> bool:
    """Whether a file takes optimizer steps, itself or through functions it calls."""
    return any(
        evidence.takes_optimizer_step(call) or _calls_optimizer(file, scope, call)
        for scope in file.scopes.scopes
        for statement in scope.statements
        for call in statement.calls
    )


def _calls_optimizer(file: FileIndex, scope: Scope, call: ast.Call) -> bool:
    name = dotted(call.func)
    if name is None or name.rpartition(".")[2] not in _names(file.project):
        return False
    found = Values.of(file.project).callee(file, scope, name, {})
    return found is not None and found[1] in _optimizing(file.project)


@query
def _names(project: Project) -> frozenset[str]:
    """Names of the functions that take an optimizer step themselves."""
    return frozenset(scope.name for scope in _optimizing(project))


@query
def _optimizing(project: Project) -> frozenset[Scope]:
    return frozenset().union(*(evidence.optimizing(file) for file in _may_optimize(project)))


def _may_optimize(project: Project) -> Iterator[FileIndex]:
    named = {*project.mentions.calls("step"), *project.mentions.calls("minimize")}
    return (file for file in project.files.values() if file in named or file.scales)
