"""The call graph: which calls reach a function, how sure that is, and what they hand over."""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from perflint.dataflow.values import Values
from perflint.index.callers import Callers, Placed
from perflint.index.hierarchy import Hierarchy
from perflint.index.kinds import (
    DATASET_TAG,
    FUNCTION_TAG,
    LAYER_TAG,
    LOADER_TAG,
    OBJECT_TAG,
    UNKNOWN_TAG,
    Kind,
    join,
)
from perflint.index.modules import Modules
from perflint.index.part import Part
from perflint.query import query
from perflint.syntax.names import dotted
from perflint.syntax.parameters import argument_for, fits
from perflint.syntax.scopes import Class, Scope, Statement

if TYPE_CHECKING:
    from perflint.index.project import FileIndex

_MOST_CALLS = 200
"""Calls of one name that are looked at: where there are more, nobody can say that all have been seen."""

_LASTING = frozenset({OBJECT_TAG, LAYER_TAG, LOADER_TAG, FUNCTION_TAG, DATASET_TAG})
"""Kinds that an object keeps while the program runs; what a tensor is depends on where it is asked."""

_NOTHING: Mapping[str, Kind] = {}


class Certainty(enum.IntEnum):
    """How sure it is that a call reaches a function."""

    NO = 0
    MAYBE = 1
    """It is a method of that name: of an object of which nothing is known, or of a class from which others inherit."""
    SURE = 2
    """Names and types lead there."""


class CallSite(NamedTuple):
    """A call that reaches a function, or may reach it, with the function (``scope``) and statement it stands in."""

    file: FileIndex
    scope: Scope
    statement: Statement
    call: ast.Call
    certainty: Certainty


class CallGraph(Part):
    """Who calls the functions of one project."""

    def calls(self, file: FileIndex, scope: Scope, least: Certainty = Certainty.SURE) -> list[CallSite]:
        """The calls that reach a function of a file, those in the file itself first.

        The calls of an ``__init__`` are those that make an object of its class.

        Args:
            file: the file of the function.
            scope: the function.
            least: how sure it has to be that a call reaches it.
        """
        return [site for site in self._calls(file, scope)[0] if site.certainty >= least]

    def are_too_many(self, file: FileIndex, scope: Scope) -> bool:
        """Whether a function has so common a name that ``calls`` has not looked at all calls of it."""
        return self._calls(file, scope)[1]

    @query(cycle=((), False))  # what a call reaches may depend on what an object was handed, and so on other calls
    def _calls(self, file: FileIndex, scope: Scope) -> tuple[tuple[CallSite, ...], bool]:
        named = self._named(file, scope)
        sites = tuple(self._reaching(islice(named, _MOST_CALLS), file, scope))
        return sites, next(named, None) is not None

    def each(self, file: FileIndex, scope: Scope) -> Iterator[CallSite]:
        """The calls of which ``calls`` lists the first: a file is parsed when somebody asks for the next one."""
        return self._reaching(self._named(file, scope), file, scope)

    def _reaching(self, calls: Iterator[Placed], home: FileIndex, scope: Scope) -> Iterator[CallSite]:
        for call in calls:
            certainty = self._certainty(call, home, scope)
            if certainty:
                yield CallSite(*call, certainty)

    # -- which calls may be meant ------------------------------------------------------------------------------

    def _named(self, home: FileIndex, scope: Scope) -> Iterator[Placed]:
        """The calls that have the name of a function, of an attribute that holds it, or of the class that it builds."""
        callers = Callers.of(self._project)
        if scope.name == "__init__" and scope.owner is not None:
            yield from callers.placed(scope.owner.name, home)
            return
        for name in (scope.name, *sorted(callers.attributes_holding(scope.name))):
            yield from callers.placed(name, home)

    # -- where a call leads ------------------------------------------------------------------------------------

    def _certainty(self, call: Placed, home: FileIndex, scope: Scope) -> Certainty:
        reached = self.reached(call[0], call[1], call[3])
        if any(function is scope for _, function in reached):
            return Certainty.SURE
        if scope.owner is None or scope.name == "__init__":
            return Certainty.NO
        may_reach = self._is_overridden(call, reached, home, scope) if reached else self._may_be_of(call, scope)
        return Certainty.MAYBE if may_reach else Certainty.NO

    def reached(self, file: FileIndex, caller: Scope, call: ast.Call) -> list[tuple[FileIndex, Scope]]:
        """The functions of the project that a call reaches, as far as names and types lead there."""
        name = dotted(call.func)
        if name is None or name in caller.parameters:
            return []
        found = Values.of(self._project).callee(file, caller, name, {})
        if found is not None:
            return [found]
        made = Modules.of(self._project).find(file.names.resolve(name), file)
        if made is not None and isinstance(made[1], Class):
            built = Modules.of(self._project).method_of(made[0], made[1], "__init__")
            return [built] if built else []
        kind = Values.of(self._project).lasting_kind(file, caller, call.func)
        return Modules.of(self._project).functions_of_kind(kind)

    def _is_overridden(
        self, call: Placed, reached: list[tuple[FileIndex, Scope]], home: FileIndex, scope: Scope
    ) -> bool:
        """Whether a method is another class's version of one that a call reaches: that of the object, it may be."""
        _, caller, _, node = call
        owners = [function.owner for _, function in reached]
        if dotted(node.func) == f"self.{scope.name}":
            owners.append(caller.owner)
        above = self._above(home, scope.owner) if scope.owner is not None else frozenset()
        return any(owner in above for owner in owners)

    @query
    def _above(self, file: FileIndex, owner: Class) -> frozenset[Class]:
        return frozenset(base for _, base in Hierarchy.of(self._project).ancestors(file, owner))

    def _may_be_of(self, call: Placed, scope: Scope) -> bool:
        """Whether a call of something that nobody knows may be one of a method, by its name and its arguments."""
        file, caller, _, node = call
        if not isinstance(node.func, ast.Attribute) or not fits(scope, node):
            return False
        receiver = node.func.value
        name = dotted(receiver)
        if name is None:
            return not isinstance(receiver, (ast.Constant, ast.JoinedStr))
        if name == "self" and caller.owner is not None:
            return self._share_an_heir(caller.owner, scope.owner)
        return not file.names.is_bound(name.partition(".")[0]) or self._is_kept_in_a_module(file, name)

    def _share_an_heir(self, one: Class, other: Class | None) -> bool:
        """Whether an object can be of both of two classes."""
        heirs = Hierarchy.of(self._project).descendants
        family = {one, *(child for _, child in heirs(one))}
        return other is not None and (other in family or any(child in family for _, child in heirs(other)))

    def _is_kept_in_a_module(self, file: FileIndex, name: str) -> bool:
        """Whether a name with an import in front is that of an object which a module of the project binds."""
        modules = Modules.of(self._project)
        qualified = file.names.resolve(name)
        if modules.find(qualified, file) is not None or modules.module_named(qualified, file) is not None:
            return False
        parts = qualified.split(".")
        return any(modules.module_named(".".join(parts[:end]), file) is not None for end in range(1, len(parts)))

    # -- what calls hand over ----------------------------------------------------------------------------------

    def functions_handed(self, file: FileIndex, scope: Scope, parameter: str) -> list[tuple[FileIndex, Scope]]:
        """The functions of the project that callers hand to a function as one of its parameters."""
        found: list[tuple[FileIndex, Scope]] = []
        for site in self.calls(file, scope):
            argument = argument_for(scope, site.call, parameter)
            if argument is not None:
                kind = Values.of(self._project).lasting_kind(site.file, site.scope, argument)
                found += Modules.of(self._project).functions_of_kind(kind)
        return found

    @query(cycle=_NOTHING, again=True)  # a recursive call adds nothing
    def handed(self, file: FileIndex, scope: Scope) -> Mapping[str, Kind]:
        """The kinds of objects that the known callers hand to a function, by parameter."""
        env: dict[str, Kind] = {}
        for site in self.calls(file, scope) if scope.parameters else ():
            for parameter in scope.parameters:
                argument = argument_for(scope, site.call, parameter)
                if argument is None:
                    continue
                kind = Values.of(self._project).lasting_kind(site.file, site.scope, argument)
                if kind.tag in _LASTING:
                    known = env.get(parameter)
                    env[parameter] = kind if known is None else join(known, kind)
        return {name: kind for name, kind in env.items() if kind.tag != UNKNOWN_TAG}
