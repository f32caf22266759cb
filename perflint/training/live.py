"""Finds which functions may train, and which files can contain a step loop: from training calls back to their callers.

In this file ``step`` calls ``backward``, ``fit`` calls ``step``, and ``train`` passes ``step`` to ``run``. All of them
may train, so the loop in ``fit`` may be a step loop, and so may any loop that calls the parameter of ``run``::

    def step(batch):
        model(batch).backward()

    def fit(loader):
        for batch in loader:
            step(batch)

    def train(loader):
        run(step, loader)
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from perflint.flow.calls import CallGraph, CallSite, Certainty, closure_of
from perflint.flow.values import MAY_BE_FUNCTIONS, Values
from perflint.index.hierarchy import Hierarchy
from perflint.index.modules import Modules
from perflint.index.project import FileIndex, Place, Project
from perflint.query import query
from perflint.syntax.bindings import targets_of
from perflint.syntax.names import dotted
from perflint.syntax.scopes import Class, Scope, Statement
from perflint.syntax.tree import walk
from perflint.syntax.vocabulary import is_no_training
from perflint.training import evidence

_NOT_CALLED = frozenset({"<module>", "__init__", "__call__", "main"})
"""Scopes that no loop calls under their name as a training step."""


class Live(NamedTuple):
    """What may train in one project: a superset of what does, and fast to compute.

    ``names``: the names of functions one call of which may be one training step; ``STEP_METHODS`` are among them.
    ``files``: those whose loops may train, in order.
    """

    names: frozenset[str]
    files: tuple[FileIndex, ...]


@query
def live(project: Project) -> Live:
    """Find what may train: the functions with their own ``backward()``, and all that call one of them."""
    closure = _Closure(project)
    closure.grow()
    files = (file for file in project.files.values() if file in closure.files and file.has_words("for", "while"))
    return Live(evidence.STEP_METHODS | frozenset(map(_name, closure.functions)), tuple(files))


class _Closure:
    """Follows functions that may train to their callers, by definition rather than by name.

    A function that is passed as a value is followed into the *slot* that then contains it: a parameter or a variable of
    a function, or an attribute of a class. Calls of the slot count as calls of the function.
    """

    def __init__(self, project: Project) -> None:
        self._project = project
        self._calls: set[ast.Call] = set()
        self._slots: set[tuple[Scope | Class, str]] = set()
        self._returning: set[Scope] = set()
        self._queue: list[Place] = []
        self.functions: set[Scope] = set()
        self.files: set[FileIndex] = set()
        """Those with a call that may train."""

    def grow(self) -> None:
        """Find all of them."""
        for file in self._project.files.values():
            if has_evidence(file):
                self.files.add(file)
                for scope in file.scopes_where(_holds_a_step):
                    self._add(Place(file, scope))
        while self._queue:
            function = self._queue.pop()
            for site in self._calls_of(function):
                self._called(site.function, site.call)
            self._follow_values(function.scope)

    def _add(self, at: Place) -> None:
        if at.scope not in self.functions and _name(at.scope):
            self.functions.add(at.scope)
            self._queue.append(at)

    def _called(self, at: Place, call: ast.Call) -> None:
        """Record a call that may do a training step, and its function if that may thereby do one."""
        self._calls.add(call)
        self.files.add(at.file)
        if at.scope not in self.functions and evidence.trains_outside_loops(at.scope, self._may_train, counted=True):
            self._add(at)

    def _may_train(self, call: ast.Call) -> bool:
        return call in self._calls or _makes_step(call)

    def _calls_of(self, function: Place) -> Iterator[CallSite]:
        return CallGraph.of(self._project).each(function, Certainty.OVERRIDE)

    # -- functions that are handed on --------------------------------------------------------------------------

    def _follow_values(self, function: Scope) -> None:
        for file in self._project.mentions.values(function.name):
            for load in file.loads_named(function.name):
                if not _is_called(load.node, load.statement) and self._is(Place(file, load.scope), load.node, function):
                    self._hand_on(Place(file, load.scope), load.statement, load.node)

    def _is(self, at: Place, node: ast.expr, function: Scope) -> bool:
        """Whether a name or an attribute may refer to a function."""
        name = dotted(node)
        kind = Values.of(self._project).lasting_kind(at, node)
        functions = [found.scope for found in Modules.of(self._project).functions_of_kind(kind)]
        if functions:
            return function in functions
        if name is None:
            return True
        return isinstance(node, ast.Attribute) and function.owner is not None and name != f"self.{node.attr}"

    def _hand_on(self, at: Place, statement: Statement, value: ast.expr) -> None:
        """Follow a value out of a statement: into parameters, variables and attributes, or to the callers."""
        for call in statement.calls:
            self._hand_over(at, call, value)
        if isinstance(statement.node, ast.Return):
            self._return(at)
        for target in targets_of(statement.node):
            name = dotted(target) or ""
            if isinstance(target, ast.Name):
                self._fill(at.file, at.scope, target.id)
            elif name == f"self.{name[5:]}" and "." not in name[5:] and at.scope.owner is not None:
                self._fill(at.file, at.scope.owner, name[5:])

    def _hand_over(self, at: Place, call: ast.Call, value: ast.expr) -> None:
        """Follow a value into the parameter that takes it, if it is one of a call's arguments."""
        if closure_of(call) is value:
            self._called(at, call)
        given = [*enumerate(call.args), *((keyword.arg, keyword.value) for keyword in call.keywords)]
        places = [place for place, argument in given if any(item is value for item in walk(argument))]
        found = CallGraph.of(self._project).reached(at, call) if places else []
        if not found:
            return
        by_place = dict(enumerate(found[0].scope.parameters))
        for place in places:
            parameter = by_place.get(place) if isinstance(place, int) else place
            if parameter is not None:
                self._fill(found[0].file, found[0].scope, parameter)

    def _return(self, at: Place) -> None:
        """Continue where a function that returns a function is called."""
        if at.scope not in self._returning:
            self._returning.add(at.scope)
            for site in self._calls_of(at):
                self._hand_on(site.function, site.statement, site.call)

    def _fill(self, file: FileIndex, holder: Scope | Class, name: str) -> None:
        """Follow a slot that may contain a function to where it is called, or passed on."""
        if (holder, name) in self._slots:
            return
        self._slots.add((holder, name))
        for place in self._seeing(file, holder):
            for caller, _, call in place.calls_named(name):
                if self._is_slot(call.func, caller, holder, name):
                    self._called(Place(place, caller), call)
            for load in place.loads_named(name):
                if not _is_called(load.node, load.statement) and self._is_slot(load.node, load.scope, holder, name):
                    self._hand_on(Place(place, load.scope), load.statement, load.node)

    def _is_slot(self, node: ast.expr, scope: Scope, holder: Scope | Class, name: str) -> bool:
        """Whether a name or an attribute in a function refers to the value of a slot."""
        if isinstance(holder, Class):
            mine = scope.owner if dotted(node) == f"self.{name}" else None
            return mine is not None and Hierarchy.of(self._project).are_related(mine, holder)
        return isinstance(node, ast.Name) and any(within is holder for within in scope.outwards)

    def _seeing(self, file: FileIndex, holder: Scope | Class) -> Iterable[FileIndex]:
        """The files that can read a slot: for an attribute, those of the class, its bases and its subclasses."""
        if isinstance(holder, Scope):
            return [file]
        hierarchy = Hierarchy.of(self._project)
        family = [*hierarchy.ancestors(file, holder), *hierarchy.descendants(holder)]
        return dict.fromkeys([file, *(there for there, _ in family)])


def _is_called(node: ast.expr, statement: Statement) -> bool:
    return any(call.func is node for call in statement.calls)


def _holds_a_step(at: Place) -> bool:
    """Whether a function contains a training step itself."""
    return evidence.trains_outside_loops(at.scope, _makes_step, counted=True)


def _makes_step(call: ast.Call) -> bool:
    """Whether a call may be a training step by itself."""
    return evidence.makes_step(call, True, False) or (
        evidence.runs_program(call) and not evidence.runs_evaluation(call)
    )


@query
def held_names(_: FileIndex, scope: Scope) -> frozenset[str]:
    """The names that a scope of a file binds to something that may be a function."""
    return frozenset(
        target.id
        for statement in scope.statements
        if isinstance(statement.node, ast.Assign) and isinstance(statement.node.value, MAY_BE_FUNCTIONS)
        for target in statement.node.targets
        if isinstance(target, ast.Name)
    )


def _name(scope: Scope) -> str:
    """The name under which a loop may call a function as its step; empty if there is none."""
    return "" if scope.name in _NOT_CALLED or is_no_training(scope.name) else scope.name


def has_evidence(file: FileIndex) -> bool:
    """Whether a file's words may include a call that does a training step."""
    if file.has_words(*evidence.STEPS) or (file.has_words("run") and file.has_words("fetch_list")):
        return True
    return (file.has_words("step") and file.has_words(*evidence.CLEARS)) or file.scales
