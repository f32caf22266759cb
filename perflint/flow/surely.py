"""Answers for each fix that adds a method of a tensor: is this surely a tensor, on every path, or surely a number?

``Surely.of(project).is_tensor(node, at)`` is true only if each path that leads to an expression of a statement
gives it a tensor: both branches of an ``if``, each ``return`` of a helper, each call of a function with a parameter,
the default of that parameter, each assignment to an attribute, and a method that a subclass overrides.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING

from perflint.flow.calls import CallGraph, Certainty
from perflint.flow.every_path import PathWalk, binders, defined_by, shared, stores_of
from perflint.flow.may_be import (
    A_NUMBER,
    A_TENSOR,
    ANYTHING,
    BUILTIN,
    IMPORTED,
    NONE,
    NOTHING,
    Defined,
    May,
    may_rebind,
    union,
)
from perflint.index.hierarchy import Hierarchy
from perflint.index.modules import Modules
from perflint.index.project import Part, Place
from perflint.query import query
from perflint.syntax.names import dotted
from perflint.syntax.parameters import all_parameters, argument_for, default_of, is_spread
from perflint.syntax.scopes import FUNCTIONS, Scope

if TYPE_CHECKING:
    pass

_DEEPEST = 4
"""How many functions are followed in a row: into a helper, or to a caller."""

_SAME_RESULT = frozenset({"staticmethod", "classmethod", "override", "paddle.no_grad", "no_grad", "functools.wraps"})
"""Decorators that leave the result of a function as it is."""

_Given = tuple[tuple[str, May], ...]


class Surely(Part):
    """The answers for one project."""

    def is_tensor(self, node: ast.expr, at: Place) -> bool:
        """Whether an expression of a statement of a function is a tensor, whichever path leads there."""
        return self.walked(at, None, _DEEPEST).may_be(node) == A_TENSOR

    def is_number(self, node: ast.expr, at: Place) -> bool:
        """Whether it is a number of Python, whichever path leads there."""
        return self.walked(at, None, _DEEPEST).may_be(node) == A_NUMBER

    @query
    def walked(self, at: Place, given: _Given | None, depth: int) -> PathWalk:
        """The walk through a function, for one kind of call of it, or (None) for all of its calls."""
        names = all_parameters(at.scope)
        entry = dict.fromkeys(_special_parameters(at.scope), ANYTHING)
        if given is None:
            entry.update((name, self._parameter(name, at, depth)) for name in names)
        else:
            entry.update(given)
        return _Walk(self, at, entry, depth)

    # -- functions ---------------------------------------------------------------------------------------------

    @query
    def _parameter(self, name: str, at: Place, depth: int) -> May:
        """What the calls of a function pass for a parameter, if all of them are known."""
        graph = CallGraph.of(self._project)
        sites = graph.callers(at, Certainty.NAME) if depth else []
        if not sites or graph.others(at) is not Certainty.NO:
            return ANYTHING
        found: May = NOTHING
        for site in sites:
            argument = site.argument(at.scope, name)
            if is_spread(site.call):
                return ANYTHING
            caller = self.walked(site.function, None, depth - 1) if argument is not None else None
            found = union(found, caller.may_be(argument) if caller and argument else default(at.scope, name))
        return found

    # -- names -------------------------------------------------------------------------------------------------

    def bound(self, name: str, at: Place, depth: int) -> May:
        """All that a function or a module ever binds a name to."""
        nodes = binders(at.scope).get(name, [])
        if nodes and all(isinstance(node, ast.alias) for node in nodes):
            return frozenset({IMPORTED})
        if name in shared(at.file) or (isinstance(at.scope.node, ast.Module) and may_rebind(at.file, name)):
            return ANYTHING
        if len(nodes) == 1 and isinstance(nodes[0], (*FUNCTIONS, ast.ClassDef)):
            return defined_by(at.file, nodes[0])
        return self.walked(at, None, depth - 1).bound.get(name, ANYTHING) if depth else ANYTHING


class _Walk(PathWalk):
    """A walk through a function that enters others around it, as many as ``depth`` says in a row."""

    def __init__(self, surely: Surely, at: Place, given: Mapping[str, May], depth: int) -> None:
        self._surely = surely
        self._further = depth
        super().__init__(at, given)

    def outside(self, name: str) -> May:
        """What a name of an enclosing function, of the module or of Python may be."""
        for around in islice(self.scope.outwards, 1, None):
            if name in binders(around) or name in all_parameters(around) or name in _special_parameters(around):
                return self._surely.bound(name, Place(self.file, around), self._further)
        return frozenset({IMPORTED if self.file.names.is_bound(name) else BUILTIN})

    def attribute(self, name: str) -> May | None:
        """All that the attribute of an object is ever set to; None if it is a method, or never set."""
        owner = self.scope.owner
        stores = stores_of(self.file, owner, name) if owner is not None else []
        if not stores:
            return None
        if not self._further:
            return ANYTHING
        walks = (place and self._surely.walked(place, None, self._further - 1) for place in stores)
        return union(*(each.bound.get(f"self.{name}", ANYTHING) if each else ANYTHING for each in walks))

    def called(self, target: Defined, call: ast.Call) -> May:
        """What a function of the project returns to a call."""
        scope = target.what
        if not self._further or not isinstance(scope, Scope) or is_spread(call):
            return ANYTHING
        if not _keeps_its_result(Place(target.file, scope)):
            return ANYTHING
        handed = []
        for name in all_parameters(scope):
            argument = argument_for(scope, call, name)
            handed.append((name, self.may_be(argument) if argument is not None else default(scope, name)))
        return self._surely.walked(Place(target.file, scope), tuple(handed), self._further - 1).result

    def called_on_self(self, method: str, call: ast.Call) -> May:
        """The result of a method of the object itself, in its class or in one that inherits from it."""
        owner, method_of = self.scope.owner, Modules.of(self.file.project).method_of
        found = method_of(self.file, owner, method) if owner is not None else None
        if owner is None or found is None or stores_of(self.file, owner, method):
            return ANYTHING
        heirs = Hierarchy.of(self.file.project).descendants(owner)
        theirs = (method_of(there, heir, method) for there, heir in heirs)
        places = dict.fromkeys((found, *filter(None, theirs)))
        return union(*(self.called(Defined(place.file, place.scope), call) for place in places))

    def found(self, qualified: str) -> May:
        """A function or class of another file."""
        found = Modules.of(self.file.project).find(qualified, self.file)
        if found is None or found[1].node not in found[0].scopes.module.node.body:
            return ANYTHING
        return self._surely.bound(found[1].name, Place(found[0], found[0].scopes.module), self._further)


def default(scope: Scope, name: str) -> May:
    """What a parameter is that a call leaves out."""
    value = default_of(scope, name)
    if not isinstance(value, ast.Constant):
        return ANYTHING
    return frozenset({NONE}) if value.value is None else A_NUMBER if isinstance(value.value, (int, float)) else ANYTHING


def _special_parameters(scope: Scope) -> list[str]:
    """``self``, ``*args`` and ``**kwargs``."""
    args = scope.args
    every = [*args.posonlyargs, *args.args, *filter(None, (args.vararg, args.kwarg))]
    return [item.arg for item in every if item.arg not in scope.parameters]


def _keeps_its_result(at: Place) -> bool:
    named = (dotted(item.func if isinstance(item, ast.Call) else item) for item in at.scope.decorators)
    return all(name is not None and at.file.names.resolve(name) in _SAME_RESULT for name in named)
