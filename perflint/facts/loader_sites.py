"""Where loaders are created, and for what: the calls of ``paddle.io.DataLoader``, of its subclasses and of wrappers."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

from perflint.dataflow.call_graph import CallGraph
from perflint.index.hierarchy import Hierarchy
from perflint.syntax.bindings import bindings_of, bound_by
from perflint.syntax.names import dotted
from perflint.syntax.scopes import Class, Scope, Statement, terminal
from perflint.syntax.tree import walk
from perflint.syntax.vocabulary import evaluates, predicts, retrieves, trains
from perflint.training import evidence
from perflint.training.training_calls import TrainingCalls

if TYPE_CHECKING:
    from perflint.index.project import FileIndex, Project

LOADER = "paddle.io.DataLoader"


class Purpose(Enum):
    """What a loader is for."""

    TRAINING = 1
    EVALUATION = 2
    UNKNOWN = 3


@dataclass(frozen=True, eq=False)
class Site:
    """A place in the code, and the calls that led there from the loader, inside out."""

    file: FileIndex
    scope: Scope
    statement: Statement | None
    calls: tuple[tuple[FileIndex, Scope, Statement, ast.Call], ...] = ()

    def at(self, file: FileIndex, scope: Scope, statement: Statement | None) -> Site:
        """Another place on the same path."""
        return replace(self, file=file, scope=scope, statement=statement)

    def called_from(self, file: FileIndex, scope: Scope, statement: Statement, call: ast.Call) -> Site:
        """The place of a call of the function that this place is in."""
        return Site(file, scope, statement, (*self.calls, (file, scope, statement, call)))

    def callers(self) -> Iterator[Site]:
        """The places of the calls of the function that this place is in; without programs that only predict."""
        for site in CallGraph.of(self.file.project).calls(self.file, self.scope):
            if not (site.file.is_offline or site.is_unbound):
                yield self.called_from(site.file, site.scope, site.statement, site.call)


def is_loader_class(project: Project, file: FileIndex, owner: Class) -> bool:
    """Whether a class of the project inherits from Paddle's loader."""
    return LOADER in Hierarchy.of(project).base_names(file, owner)


def purpose(site: Site, project: Project, depth: int = 0) -> Purpose:
    """What the loader at the start of a site's calls is for, judging by names, loops and callers."""
    found = Purpose.UNKNOWN
    for file, scope, statement, call in site.calls:
        one = _purpose(file, scope, statement, call, project)
        if one is Purpose.EVALUATION:
            return one
        found = one if found is Purpose.UNKNOWN else found
    if found is not Purpose.UNKNOWN or depth > 2 or not site.calls:
        return found
    file, scope, statement, call = site.calls[-1]
    if not _is_returned(scope, statement):
        return found
    answers = {purpose(caller, project, depth + 1) for caller in site.at(file, scope, statement).callers()}
    return Purpose.TRAINING if Purpose.TRAINING in answers else found


def _purpose(file: FileIndex, scope: Scope, statement: Statement, call: ast.Call, project: Project) -> Purpose:
    targets = bound_by(statement.node)
    for words in ([name.rpartition(".")[2] for name in targets], _dataset_words(call)):
        said = _said(words)
        if said is not Purpose.UNKNOWN:
            return said
    if _shuffles(call, scope):
        return Purpose.TRAINING
    used = _used(file, scope, set(targets), project)
    if used is not Purpose.UNKNOWN:
        return used
    said = _said([scope.name])
    if said is not Purpose.UNKNOWN:
        return said
    return Purpose.EVALUATION if _said([file.parts[-1]]) is Purpose.EVALUATION else Purpose.UNKNOWN


def _said(words: list[str]) -> Purpose:
    training, evaluation = any(map(trains, words)), any(map(_evaluates, words))
    if training == evaluation:
        return Purpose.UNKNOWN
    return Purpose.TRAINING if training else Purpose.EVALUATION


def _evaluates(word: str) -> bool:
    return evaluates(word) or predicts(word) or retrieves(word)


def _dataset_words(call: ast.Call) -> list[str]:
    """Names in the data that a call loads: its first argument, its dataset and its sampler."""
    given = [*call.args[:1], *(item.value for item in call.keywords if item.arg in ("dataset", "batch_sampler"))]
    return [
        item.id if isinstance(item, ast.Name) else item.attr
        for argument in given
        for item in walk(argument)
        if isinstance(item, (ast.Name, ast.Attribute))
    ]


def _shuffles(call: ast.Call, scope: Scope) -> bool:
    for keyword in call.keywords:
        if keyword.arg == "shuffle" and isinstance(keyword.value, ast.Constant) and keyword.value.value is True:
            return True
        if keyword.arg == "batch_sampler" and isinstance(keyword.value, ast.Name):
            made = [
                statement.node.value
                for statement in bindings_of(scope).get(keyword.value.id, ())
                if isinstance(statement.node, ast.Assign)
            ]
            return any(isinstance(value, ast.Call) and _shuffles(value, scope) for value in made)
    return False


def _used(file: FileIndex, scope: Scope, targets: set[str], project: Project) -> Purpose:
    """What a scope does with the loaders that it binds to these names."""
    if not targets:
        return Purpose.UNKNOWN
    for loop in evidence.step_loops(scope, lambda call: TrainingCalls.of(project).call_trains(file, scope, call)):
        if not isinstance(loop, ast.While) and any(dotted(node) in targets for node in expressions(loop.iter)):
            return Purpose.TRAINING
    handed = [
        terminal(call) or ""
        for statement in scope.statements
        for call in statement.calls
        if any(dotted(argument) in targets for argument in [*call.args, *(item.value for item in call.keywords)])
    ]
    said = [_said([name]) for name in handed]
    return next((one for one in (Purpose.TRAINING, Purpose.EVALUATION) if one in said), Purpose.UNKNOWN)


def _is_returned(scope: Scope, statement: Statement) -> bool:
    if isinstance(statement.node, ast.Return):
        return True
    targets = set(bound_by(statement.node))
    return any(
        isinstance(other.node, ast.Return)
        and other.node.value is not None
        and any(dotted(node) in targets for node in expressions(other.node.value))
        for other in scope.statements
    )


def expressions(node: ast.expr) -> Iterator[ast.expr]:
    """An expression and those in it."""
    return (item for item in walk(node) if isinstance(item, ast.expr))
