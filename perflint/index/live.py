"""Which files can hold a step loop, and which functions may train: told by words, before most files are parsed."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from perflint.index import training
from perflint.index.names import dotted
from perflint.index.scopes import Scope, Statement, terminal
from perflint.index.tree import walk

if TYPE_CHECKING:
    from perflint.index.file import FileIndex
    from perflint.index.project import Project

_NOT_CALLED = frozenset({"<module>", "__init__", "__call__", "main"})
"""Scopes that no loop reaches by this name as its training step."""

FUNCTION_VALUES = (ast.Name, ast.Attribute, ast.Call, ast.Lambda, ast.IfExp)
"""Expressions that may stand for a function."""


class Live:
    """What may train in one project: a superset that is cheap to ask."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._names: set[str] = set()
        self._holders: set[str] = set()
        self._with_evidence = [file for file in project.files.values() if has_evidence(file)]
        self._grow()

    @cached_property
    def names(self) -> frozenset[str]:
        """Names of functions of which one call may make one training step, by name alone; ``STEP_METHODS`` are."""
        return frozenset(self._names)

    def same(self, other: Live) -> bool:
        """Whether another answer to the same questions says the same."""
        return self._names == other._names and self._holders == other._holders and self.files == other.files

    def covers(self, file: FileIndex, text_alone: bool = False) -> bool:
        """Whether a file that has changed adds nothing to what is known, which then still is a superset.

        ``text_alone``: what has changed are no more than its comments and its layout.
        """
        if has_evidence(file) and file not in self._with_evidence:
            return False
        if _may_loop(file, has_evidence(file), self._names | self._holders) != (file in self.files):
            return False
        if text_alone:
            return True
        stepping = {_name(scope) for scope in file.scopes.scopes if self._steps(scope)} - {""}
        if not stepping <= self._names:
            return False
        for name in self._names | self._holders:
            if file.may_hold(name) and not self._holders.issuperset(_holding(file, name)):
                return False
        held = (name for holder in self._holders if holder in file.words for name in _calling_held(file, holder))
        return self._names.issuperset(held)

    @cached_property
    def files(self) -> list[FileIndex]:
        """The files whose loops may train, in order."""
        wanted = frozenset(self._with_evidence)
        known = self._names | self._holders
        return [file for file in self._project.files.values() if _may_loop(file, file in wanted, known)]

    def _grow(self) -> None:
        """Go from the functions that make a step to those that call them, and to what they are handed to."""
        queue = [scope for file in self._with_evidence for scope in file.scopes.scopes if self._steps(scope)]
        names = {*training.STEP_METHODS, *(name for name in map(_name, queue) if name)}
        while names:
            name = names.pop()
            self._names.add(name)
            called = {_name(scope) for scope in self._calling(name) if self._steps(scope)}
            names |= (called | self._handed(name)) - self._names - {""}

    def _steps(self, scope: Scope) -> bool:
        """Whether one call of a function may make one training step."""
        return training.trains_outside_loops(scope, self._may_train)

    def _may_train(self, call: ast.Call) -> bool:
        return terminal(call) in self._names or training.makes_step(call, True, False) or runs(call)

    def _calling(self, name: str) -> Iterator[Scope]:
        for file in self._project.mentions.calls(name):
            yield from dict.fromkeys(scope for scope, _, _ in file.calls_named(name))

    def _handed(self, name: str) -> set[str]:
        """Note what a function of this name is handed to or kept in; what calls something that it was handed."""
        found: set[str] = set()
        queue = [name]
        while queue:
            known = queue.pop()
            for file in self._project.mentions.values(known):
                new = set(_holding(file, known)) - self._holders
                self._holders |= new
                queue += new
                for holder in new:
                    for there in self._project.mentions.of(holder):
                        found |= set(_calling_held(there, holder))
        return found


def _calling_held(file: FileIndex, holder: str) -> Iterator[str]:
    """The functions of this name, or methods of classes of this name, that call what they hold."""
    for scope in file.scopes.scopes:
        names = scope.name, scope.owner.name if scope.owner else ""
        if holder in names and _name(scope) and _calls_what_it_holds(scope):
            yield _name(scope)


def _calls_what_it_holds(scope: Scope) -> bool:
    held = {*scope.parameters, *(scope.owner.attributes if scope.owner else ()), *held_names(scope)}
    return training.trains_outside_loops(scope, lambda call: terminal(call) in held)


def _may_loop(file: FileIndex, has_evidence: bool, known: Iterable[str]) -> bool:
    """Whether a loop of a file may train."""
    return ("for" in file.words or "while" in file.words) and (has_evidence or not file.words.isdisjoint(known))


def runs(call: ast.Call) -> bool:
    """Whether a call may run a program of a static graph that trains."""
    return training.runs_program(call) and not training.runs_evaluation(call)


def held_names(scope: Scope) -> Iterable[str]:
    """The names that a scope binds to something that may be a function."""
    return (
        target.id
        for statement in scope.statements
        if isinstance(statement.node, ast.Assign) and isinstance(statement.node.value, FUNCTION_VALUES)
        for target in statement.node.targets
        if isinstance(target, ast.Name)
    )


def _name(scope: Scope) -> str:
    """The name by which a loop may call a function as its step; empty where none does."""
    return "" if scope.name in _NOT_CALLED or training.is_evaluation(scope.name) else scope.name


def has_evidence(file: FileIndex) -> bool:
    """Whether a file's words allow for a call that makes a training step."""
    words = file.words
    if not words.isdisjoint(training.STEPS) or {"run", "fetch_list"} <= words:
        return True
    return ("step" in words and not words.isdisjoint(training.CLEARS)) or file.scales


def _holding(file: FileIndex, name: str) -> Iterator[str]:
    """What a file hands a function of this name to, or keeps it in."""
    for load in file.loads.get(name, ()):
        if load.statement is None or load.scope is None or not _is_function(load.node, file, load.scope):
            continue
        if any(call.func is load.node for call in load.statement.calls):
            continue
        yield from _around(load.statement, load.node)
        yield load.scope.name
        if load.scope.owner is not None:
            yield load.scope.owner.name


def _is_function(node: ast.Name | ast.Attribute, file: FileIndex, scope: Scope) -> bool:
    """Whether a name may stand for a function of the project, as ``args.train`` does not."""
    local = dotted(node)
    if local is None:
        return True
    first, dot, _ = local.partition(".")
    if not dot:
        enclosing: Scope | None = scope
        while enclosing is not None:
            if first in enclosing.functions:
                return True
            enclosing = enclosing.parent
        return file.names.is_bound(first) or bool(file.names.stars) or first in held_names(scope)
    return first == "self" or file.names.is_bound(first) or "_" in local.rpartition(".")[2]


def _around(statement: Statement, node: ast.expr) -> Iterator[str]:
    """The calls in a statement that take an expression, and what the statement binds."""
    yield from (name for call in statement.calls if _takes(call, node) and (name := terminal(call)))
    if isinstance(statement.node, ast.Assign) and not isinstance(statement.node.value, ast.Call):
        targets: Iterable[ast.expr] = statement.node.targets
        yield from (target.id for target in targets if isinstance(target, ast.Name))
        yield from (target.attr for target in targets if isinstance(target, ast.Attribute))


def _takes(call: ast.Call, node: ast.expr) -> bool:
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    return any(item is node for argument in given for item in walk(argument))
