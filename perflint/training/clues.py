"""Clues: the calls that make a function of a forward pass worth checking, because it costs time to follow calls."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from perflint.flow.calls import CallGraph
from perflint.index.kinds import LAYER_TAG
from perflint.index.modules import Modules
from perflint.index.project import FileIndex, Project
from perflint.query import query
from perflint.syntax.names import dotted, stored_names
from perflint.syntax.scopes import Scope, Statement, candidates, terminal
from perflint.syntax.tree import walk
from perflint.syntax.vocabulary import is_no_training, is_trial
from perflint.training.evidence import terminal_names

# Clues: the calls that make a forward pass worth checking: they cost time, or Python tests their result.

PICKS = frozenset({"max", "min", "sorted"})
"""Functions of Python that decide by themselves."""

MATH = frozenset({"isnan", "isfinite", "isinf"})
"""Functions of ``math`` that need the value of their argument."""


@dataclass(frozen=True)
class Clues:
    """Last names of calls.

    ``decided``: those that matter only if Python tests their result. ``sure``: only code that a call certainly reaches
    is checked, since findings elsewhere would not be shown. ``close``: those that are not worth following a forward
    pass through functions without them.
    """

    calls: frozenset[str] = frozenset()
    decided: frozenset[str] = frozenset()
    sure: bool = False
    close: frozenset[str] = frozenset()

    @cached_property
    def names(self) -> frozenset[str]:
        """The last names of all calls that matter."""
        return self.calls | self.decided

    @cached_property
    def far(self) -> frozenset[str]:
        """The last names of the calls that are also searched for behind other calls."""
        return self.names - self.close

    def are_far_in(self, statements: Iterable[Statement]) -> bool:
        """Whether the statements of a function contain such a call, and, if needed, the decision."""
        return self._holds(list(statements), self.calls - self.close)

    def are_in(self, statements: Iterable[Statement]) -> bool:
        """Whether the statements of a function contain such a call, and, if needed, the decision."""
        return self._holds(list(statements), self.calls)

    def are_close_in(self, statements: Iterable[Statement]) -> bool:
        """Whether the statements of a function contain a close call."""
        return any(not self.close.isdisjoint(terminal_names(statement)) for statement in statements)

    def _holds(self, statements: list[Statement], calls: frozenset[str]) -> bool:
        called = frozenset().union(*map(terminal_names, statements))
        if not called.isdisjoint(calls):
            return True
        return not called.isdisjoint(self.decided) and self._are_decided(statements)

    def _are_decided(self, statements: list[Statement]) -> bool:
        bound = {
            name
            for statement in statements
            if isinstance(statement.node, (ast.Assign, ast.AnnAssign))
            and not terminal_names(statement).isdisjoint(self.decided)
            for name in stored_names(statement.node)
        }
        found = (candidate for statement in statements for candidate in candidates(statement.node))
        return any(self._is_decided(expression, asked, bound) for expression, asked in found)

    def _is_decided(self, expression: ast.expr, asked: bool, bound: set[str]) -> bool:
        """Whether an expression tests the result of such a call, or a name bound to it."""
        if isinstance(expression, ast.Call):
            if dotted(expression.func) in PICKS:
                return True
            if not asked and terminal(expression) not in MATH:
                return False  # a call does not test its arguments
        return any(
            (isinstance(item, ast.Name) and item.id in bound)
            or (isinstance(item, ast.Call) and terminal(item) in self.decided)
            for item in walk(expression)
        )


# Finds whether a function of a forward pass leads to a call that a rule may report, directly or through calls.
#
# First, names are checked for the whole project at once, from the functions that contain such a call back to their
# callers. Then only calls of a name that leads there are resolved.

MOST_CALLS = 4
"""Through how many nested calls a forward pass is followed."""

_MAKING = ("__init__", "__call__")
"""What runs when a class or an instance of it is called."""


@query
def clues_ahead(file: FileIndex, scope: Scope, clues: Clues, calls: int, caller: Scope) -> bool:
    """Whether a function contains a clue, or reaches one worth following through at most ``calls`` calls.

    A close clue counts if the caller is a forward pass or contains one itself. This test uses no kinds of values, so it
    is cheap; the look at the function, which is expensive, then finds which calls really run.
    """
    if calls > 0 and _leads_on(file, scope, clues, calls):
        return True
    if caller.name == "forward" or clues.are_in(caller.statements):
        return clues.are_in(scope.statements)
    return clues.are_far_in(scope.statements)


@query
def _leads_on(file: FileIndex, scope: Scope, clues: Clues, calls: int) -> bool:
    """Whether a function reaches a clue worth following through at least one and at most ``calls`` calls."""
    near = _names_leading_on(file.project, clues)
    return any(
        clues.are_far_in(target[1].statements) or (calls > 1 and _leads_on(*target, clues, calls - 1))
        for call in scope.calls
        if _may_lead_on(call, near, calls)
        for target in _called(file, scope, call, clues)
    )


@query
def is_worth_a_look(file: FileIndex, forward: Scope, clues: Clues) -> bool:
    """Whether a forward pass, or a function that it calls, contains a clue or leads to one."""
    methods = forward.owner.methods if forward.owner is not None else {}
    own = [methods[name] for name in sorted({name for name in map(terminal, forward.calls) if name in methods})]
    if any(clues.are_in(scope.statements) for scope in (forward, *own)):
        return True
    return _calls_a_holder(file, forward, clues) or _leads_on(file, forward, clues, MOST_CALLS)


def _calls_a_holder(file: FileIndex, forward: Scope, clues: Clues) -> bool:
    """Whether a function that a forward pass calls contains a close clue; behind another call these do not count."""
    holders = _holders(file.project, clues) if clues.close else frozenset()
    if holders.isdisjoint(_names_called(file, forward)):
        return False
    return any(
        clues.are_in(target[1].statements)
        for call in forward.calls
        if (name := terminal(call)) in holders or (name and file.names.is_bound(name))
        for target in _called(file, forward, call, clues)
    )


@query
def _holders(project: Project, clues: Clues) -> frozenset[str]:
    """The names under which functions with a close clue are called in a project."""
    files = (file for file in project.mentions.of(*sorted(clues.close)) if not (file.is_quiet or file.is_foreign))
    return frozenset().union(*(_holders_in(file, clues) for file in files))


@query
def _holders_in(file: FileIndex, clues: Clues) -> frozenset[str]:
    return frozenset(name for name, scope in _functions_in(file)[0] if clues.are_close_in(scope.statements))


def _may_lead_on(call: ast.Call, near: Mapping[str, int], calls: int) -> bool:
    """Whether a call may reach a clue, judging by names; a call without a name may."""
    name = terminal(call)
    return name is None or near.get(name, calls) < calls


@query
def _called(file: FileIndex, scope: Scope, call: ast.Call, clues: Clues) -> tuple[tuple[FileIndex, Scope], ...]:
    """The functions of the project that a call of a function may reach."""
    found = Dispatch.of(file.project).targets_by_names(file, scope, call)
    followed = (target for target in found if target.sure or not clues.sure)
    places = ((target.file, target.scope) for target in followed if is_followed(target.file, target.scope))
    return tuple(dict.fromkeys(place for place in places if place[1] is not scope))


def is_followed(file: FileIndex, target: Scope, shares_step: bool = False) -> bool:
    """Whether the calls of a function are followed: not into evaluation or into a layer, which has its own steps.

    ``shares_step``: a training step passes its batch on to it, whatever its name says.
    """
    if file.is_quiet or file.is_foreign or not (shares_step or _is_part_of_steps(target)):
        return False
    if target.owner is not None and target.name in _MAKING:
        return Modules.of(file.project).kind_of_instance(file, target.owner).tag != LAYER_TAG
    return True


def _is_part_of_steps(function: Scope) -> bool:
    """Whether the name of a function allows it to be part of a training step."""
    name = function.name
    return name != "forward" and "epoch" not in name and not is_no_training(name) and not is_trial(name)


# -- names -------------------------------------------------------------------------------------------------------------


_Place = tuple[FileIndex, Scope]
_Names = Mapping[str, frozenset[str]]


@dataclass(frozen=True, eq=False)
class _Functions:
    """``defined``: functions, by the names that call them; ``meant``: what else a name may refer to."""

    defined: Mapping[str, list[_Place]]
    meant: Mapping[str, set[str]]


@dataclass
class _Graph:
    """What leads to a name: ``calls`` of it, other names that ``mean`` it, and which names contain a clue."""

    calls: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    means: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    held: set[str] = field(default_factory=set)

    def distances(self) -> Mapping[str, int]:
        """The names that lead to a clue, each with the least number of calls in between."""
        found: dict[str, int] = {}
        latest = self.held
        for number in range(MOST_CALLS):
            queue = [name for name in latest if name not in found]
            found.update(dict.fromkeys(queue, number))
            for name in queue:  # grows during the loop
                others = [other for other in self.means.get(name, ()) if other not in found]
                found.update(dict.fromkeys(others, number))
                queue += others
            latest = {caller for name in queue for caller in self.calls.get(name, ())}
        return found


@query
def _names_leading_on(project: Project, clues: Clues) -> Mapping[str, int]:
    """The names of functions that lead to a clue, each with the least number of calls in between.

    Only functions that a forward pass may call are examined.
    """
    functions, graph = _functions(project), _Graph()
    known = set[str]()
    names = set[str]().union(*(_names_called(*place) for place in _forwards(project)))
    for _ in range(MOST_CALLS):
        queue = list(names - known)
        known |= names
        names = set()
        for name in queue:  # grows during the loop
            for other in functions.meant.get(name, ()):
                graph.means[other].add(name)
                queue += () if other in known else (other,)
                known.add(other)
            for place in functions.defined.get(name, ()):
                names |= _enter(place, name, graph, clues)
    return graph.distances()


def _enter(place: _Place, name: str, graph: _Graph, clues: Clues) -> frozenset[str]:
    """Add a function under its name, with the names that it calls."""
    called = _names_called(*place)
    if clues.far.isdisjoint(called) or not clues.are_far_in(place[1].statements):
        for other in called:
            graph.calls[other].add(name)
    else:
        graph.held.add(name)
    return called


def _forwards(project: Project) -> Iterator[_Place]:
    """The forward passes of a project."""
    for file in project.mentions.of("forward"):
        if not (file.is_quiet or file.is_foreign):
            owners = (owner for owner in file.scopes.classes.values() if "forward" in owner.methods)
            yield from ((file, owner.methods["forward"]) for owner in owners)


@query
def _functions(project: Project) -> _Functions:
    """The functions of a project that may be part of steps."""
    defined, meant = defaultdict[str, list[_Place]](list), defaultdict[str, set[str]](set)
    for file in project.files.values():
        if not (file.is_quiet or file.is_foreign):
            own, others = _functions_in(file)
            for name, scope in own:
                defined[name].append((file, scope))
            for name, other in others:
                meant[name].add(other)
    return _Functions(defined, meant)


@query
def _functions_in(file: FileIndex) -> tuple[list[tuple[str, Scope]], set[tuple[str, str]]]:
    """The functions of a file by the names that call them, and its names with what each may refer to."""
    scopes = (scope for scope in file.scopes.scopes if scope is not file.scopes.module and _is_part_of_steps(scope))
    defined = [(_called_as(scope), scope) for scope in scopes]
    meant = {(owner.name, base.rpartition(".")[2]) for owner in file.scopes.classes.values() for base in owner.bases}
    for owner in file.scopes.classes.values():
        for attribute, values in owner.attributes.items():
            meant.update((attribute, name) for value, _ in values for name in _meant(value))
    return defined, {(name, other) for name, other in meant if name != other}


def _called_as(function: Scope) -> str:
    """The name that calls a function; for ``__init__`` and ``__call__``, that of the class."""
    return function.owner.name if function.owner is not None and function.name in _MAKING else function.name


@query
def _names_called(file: FileIndex, function: Scope) -> frozenset[str]:
    """The last names of a function's calls, and of what these refer to in the function and in its file."""
    called = {name for name in map(terminal, function.calls) if name}
    bound = {
        name
        for statement in function.statements
        if isinstance(statement.node, ast.Assign)
        and any(isinstance(target, ast.Name) and target.id in called for target in statement.node.targets)
        for name in _meant(statement.node.value)
    }
    imported = {file.names.resolve(name).rpartition(".")[2] for name in called if file.names.is_bound(name)}
    return frozenset(called | bound | imported)


def _meant(value: ast.expr) -> Iterator[str]:
    """The last names of the functions and classes that a value may be, or may be an instance of."""
    if isinstance(value, ast.Name):
        yield value.id
    elif isinstance(value, ast.Attribute):
        yield value.attr
    elif isinstance(value, ast.Lambda):
        yield from _meant(value.body)
    elif isinstance(value, ast.IfExp):
        yield from (*_meant(value.body), *_meant(value.orelse))
    elif isinstance(value, ast.Call):
        yield from _meant(value.func)
        if terminal(value) == "partial":
            yield from (name for argument in value.args[:1] for name in _meant(argument))
