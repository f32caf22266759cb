"""Whether a function of a forward pass leads to a call that a rule may speak of, itself or through what it calls.

Names answer first, for the whole project at once: from the functions that hold such a call back to what calls them.
Only calls of a name that leads on are then resolved.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from perflint.dataflow.dispatch import Dispatch
from perflint.index.kinds import LAYER_TAG
from perflint.index.modules import Modules
from perflint.index.project import FileIndex, Project
from perflint.query import query
from perflint.syntax.scopes import Scope, terminal
from perflint.syntax.vocabulary import is_no_training, is_trial
from perflint.training.clues import Clues

MOST_CALLS = 4
"""How many calls a forward pass is followed through, one after the other."""

_MAKING = ("__init__", "__call__")
"""What runs where a class is called, or an object of it."""


@query
def clues_ahead(file: FileIndex, scope: Scope, clues: Clues, calls: int, caller: Scope) -> bool:
    """Whether a function holds a clue, or reaches one that is worth it through at most so many ``calls``.

    A close clue counts where the caller is a forward pass or holds one itself.  It asks no kinds of values, so it is
    cheap: the look at the function, which is not, says which calls really run.
    """
    if calls > 0 and _leads_on(file, scope, clues, calls):
        return True
    if caller.name == "forward" or clues.are_in(caller.statements):
        return clues.are_in(scope.statements)
    return clues.are_far_in(scope.statements)


@query
def _leads_on(file: FileIndex, scope: Scope, clues: Clues, calls: int) -> bool:
    """Whether a function reaches a clue that is worth it through at least one call and at most so many."""
    near = _names_leading_on(file.project, clues)
    return any(
        clues.are_far_in(target[1].statements) or (calls > 1 and _leads_on(*target, clues, calls - 1))
        for call in scope.calls
        if _may_lead_on(call, near, calls)
        for target in _called(file, scope, call, clues)
    )


@query
def is_worth_a_look(file: FileIndex, forward: Scope, clues: Clues) -> bool:
    """Whether a forward pass, or a function that it calls, holds a clue, or whether it leads to one."""
    methods = forward.owner.methods if forward.owner is not None else {}
    own = [methods[name] for name in sorted({name for name in map(terminal, forward.calls) if name in methods})]
    if any(clues.are_in(scope.statements) for scope in (forward, *own)):
        return True
    return _calls_a_holder(file, forward, clues) or _leads_on(file, forward, clues, MOST_CALLS)


def _calls_a_holder(file: FileIndex, forward: Scope, clues: Clues) -> bool:
    """Whether a function that a forward pass calls holds a close clue; behind another call these do not count."""
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
    """The names by which functions of a project are called that hold a close clue."""
    files = (file for file in project.mentions.of(*sorted(clues.close)) if not (file.is_quiet or file.is_foreign))
    return frozenset().union(*(_holders_in(file, clues) for file in files))


@query
def _holders_in(file: FileIndex, clues: Clues) -> frozenset[str]:
    return frozenset(name for name, scope in _functions_in(file)[0] if clues.are_close_in(scope.statements))


def _may_lead_on(call: ast.Call, near: Mapping[str, int], calls: int) -> bool:
    """Whether names say that a call may reach a clue; those that are called through no name may."""
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
    """Whether the calls of a function are followed: not into evaluation, nor into a layer, whose steps are its own.

    ``shares_step``: a training step hands its batch on to it, whatever its name says.
    """
    if file.is_quiet or file.is_foreign or not (shares_step or _is_part_of_steps(target)):
        return False
    if target.owner is not None and target.name in _MAKING:
        return Modules.of(file.project).kind_of_instance(file, target.owner).tag != LAYER_TAG
    return True


def _is_part_of_steps(function: Scope) -> bool:
    """Whether the name of a function says nothing against a part of a training step."""
    name = function.name
    return name != "forward" and "epoch" not in name and not is_no_training(name) and not is_trial(name)


# -- names -------------------------------------------------------------------------------------------------------------


_Place = tuple[FileIndex, Scope]
_Names = Mapping[str, frozenset[str]]


@dataclass(frozen=True, eq=False)
class _Functions:
    """``defined``: functions, by the names that call them; ``meant``: what else a name may stand for."""

    defined: Mapping[str, list[_Place]]
    meant: Mapping[str, set[str]]


@dataclass
class _Graph:
    """What leads to a name: ``calls`` of it, other names that ``mean`` it, and which names hold a clue."""

    calls: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    means: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    held: set[str] = field(default_factory=set)

    def distances(self) -> Mapping[str, int]:
        """The names that lead to a clue, each with the calls that lie between at least."""
        found: dict[str, int] = {}
        latest = self.held
        for number in range(MOST_CALLS):
            queue = [name for name in latest if name not in found]
            found.update(dict.fromkeys(queue, number))
            for name in queue:  # which grows meanwhile
                others = [other for other in self.means.get(name, ()) if other not in found]
                found.update(dict.fromkeys(others, number))
                queue += others
            latest = {caller for name in queue for caller in self.calls.get(name, ())}
        return found


@query
def _names_leading_on(project: Project, clues: Clues) -> Mapping[str, int]:
    """The names by which a function is called that leads to a clue, each with the calls that lie between at least.

    Only what a forward pass may call is looked at.
    """
    functions, graph = _functions(project), _Graph()
    known = set[str]()
    names = set[str]().union(*(_names_called(*place) for place in _forwards(project)))
    for _ in range(MOST_CALLS):
        queue = list(names - known)
        known |= names
        names = set()
        for name in queue:  # which grows meanwhile
            for other in functions.meant.get(name, ()):
                graph.means[other].add(name)
                queue += () if other in known else (other,)
                known.add(other)
            for place in functions.defined.get(name, ()):
                names |= _enter(place, name, graph, clues)
    return graph.distances()


def _enter(place: _Place, name: str, graph: _Graph, clues: Clues) -> frozenset[str]:
    """Enter a function under its name; the names that it calls."""
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
    """The functions of a project that may be a part of steps."""
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
    """The functions of a file by the names that call them, and its names with what each may stand for."""
    scopes = (scope for scope in file.scopes.scopes if scope is not file.scopes.module and _is_part_of_steps(scope))
    defined = [(_called_as(scope), scope) for scope in scopes]
    meant = {(owner.name, base.rpartition(".")[2]) for owner in file.scopes.classes.values() for base in owner.bases}
    for owner in file.scopes.classes.values():
        for attribute, values in owner.attributes.items():
            meant.update((attribute, name) for value, _ in values for name in _meant(value))
    return defined, {(name, other) for name, other in meant if name != other}


def _called_as(function: Scope) -> str:
    """The name that calls a function: for what makes an object, or for a call of one, that of the class."""
    return function.owner.name if function.owner is not None and function.name in _MAKING else function.name


@query
def _names_called(file: FileIndex, function: Scope) -> frozenset[str]:
    """The last names of what a function calls, and of what these stand for in it and in its file."""
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
    """The last names of the functions and classes that a value may be, or an object of."""
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
