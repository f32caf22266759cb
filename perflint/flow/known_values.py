"""Values that are known where a function runs: fields of one object, names bound once, sizes."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from perflint.flow.calls import CallGraph, Certainty
from perflint.flow.constant_values import ValueOrigin
from perflint.flow.constants import Constants
from perflint.flow.known_arguments import Told, in_order
from perflint.flow.values import Values
from perflint.index.hierarchy import Hierarchy
from perflint.index.kinds import EITHER, LAYER_TAG, OBJECT_TAG, Kind
from perflint.index.modules import Modules
from perflint.index.project import FileIndex, Place, Project
from perflint.query import query
from perflint.syntax.bindings import bindings_of, definitions_of, targets_of
from perflint.syntax.names import dotted, dotted_names
from perflint.syntax.parameters import argument_of, default_of, is_spread, position_of
from perflint.syntax.scopes import Class, Scope
from perflint.syntax.tree import alike
from perflint.syntax.vocabulary import is_given_by_data

# Finds the attributes of one object, from what the function that creates it does with it.
#
# ``Meter(sync=False)`` never takes the branch ``if self.sync:``, whatever other meters do; neither does an executor
# take ``if self.mode == "train":`` in a function that has called its ``load_inference_model``, which sets the mode.


class _Made(NamedTuple):
    """An object: the call that creates it, with its class."""

    call: ast.Call
    home: FileIndex
    owner: Class


def told_to_method(at: Place, call: ast.Call, told: Told, target: Scope) -> dict[str, ast.expr]:
    """The known attributes of the object that a method is called on, under the names in the method.

    Args:
        at: the caller.
        call: the call of the method.
        told: what is known in the caller, which also counts if the object is its own (``self.step()``).
        target: the method.
    """
    receiver = (dotted(call.func) or "").rpartition(".")[0]
    if target.owner is None or not receiver:
        return {}
    if receiver == "self":
        known = {name: value for name, value in told if name.startswith("self.")}
    else:
        known = dict(fields_of(at, receiver))
    bound = bindings_of(target) if known else {}
    return {name: value for name, value in known.items() if name not in bound}


@query
def fields_of(at: Place, receiver: str) -> Told:
    """The constant attributes of an object that a function creates and binds to a name."""
    made = _made(at, receiver)
    tested = _tested(made.home, made.owner) if made is not None else frozenset()
    if made is None or not tested:
        return ()
    found = {name: _set_at_the_start(name, made) for name in tested}
    found.update(_set_by_calls(at.scope, receiver, made, tested))
    return in_order({f"self.{name}": value for name, value in found.items() if value is not None})


def _made(at: Place, receiver: str) -> _Made | None:
    """The object that a name refers to, if the function binds it once, to a call of a class of the project."""
    call = definitions_of(at.scope).get(receiver)
    if not isinstance(call, ast.Call):
        return None
    found = Modules.of(at.file.project).class_at(at.file, call.func)
    return _Made(call, *found) if found is not None else None


@query
def _tested(file: FileIndex, owner: Class) -> frozenset[str]:
    """The attributes of its object that the methods of a class use in the tests of an ``if``."""
    tests = (
        statement.node.test
        for method in owner.methods.values()
        for statement in method.statements
        if isinstance(statement.node, ast.If)
    )
    names = (name for test in tests for name in dotted_names(test))
    return frozenset(name[5:] for name in names if name.startswith("self.") and "." not in name[5:])


def _set_at_the_start(name: str, made: _Made) -> ast.Constant | None:
    """The constant that ``__init__`` gives an attribute of an object, if nothing else gives it a value."""
    value, init = _set_by_init(name, made.home, made.owner), made.owner.methods.get("__init__")
    if isinstance(value, ast.Name) and init is not None:
        return _constant(_handed(value.id, init, made.call))
    return _constant(value)


def _set_by_init(name: str, home: FileIndex, owner: Class) -> ast.expr | None:
    """What the ``__init__`` of a class sets an attribute to, if nothing else gives it a value."""
    init = owner.methods.get("__init__")
    family = Hierarchy.of(home.project).lineage(home, owner)
    assigned = [item for _, each in family for item in each.attributes.get(name, ())]
    if init is None or len(assigned) != 1 or assigned[0][1] is not init:
        return None
    statements = bindings_of(init).get(f"self.{name}", [])
    if len(statements) != 1 or statements[0].place is not None:
        return None
    return assigned[0][0] if Constants.of(home.project).is_kept(name, home, owner) else None


@query
def set_alike(project: Project, classes: str, name: str) -> ast.Constant | None:
    """The constant to which each of the classes that an object may be of sets an attribute (``Kind.type``)."""
    homes = [Modules.of(project).class_named(one) for one in classes.split(EITHER)]
    values = [_set_by_init(name, *home) if home is not None else None for home in homes]
    constants = [value for value in values if isinstance(value, ast.Constant)]
    is_same = len(constants) == len(values) and all(alike(one, constants[0]) for one in constants)
    return constants[0] if is_same else None


def _handed(parameter: str, init: Scope, call: ast.Call) -> ast.expr | None:
    if parameter not in init.parameters or parameter in bindings_of(init) or is_spread(call):
        return None
    return argument_of(call, parameter, position_of(init, parameter)) or default_of(init, parameter)


def _constant(node: ast.expr | None) -> ast.Constant | None:
    is_flag = isinstance(node, ast.Constant) and (node.value is None or isinstance(node.value, (bool, str)))
    return node if is_flag and isinstance(node, ast.Constant) else None


def _set_by_calls(
    scope: Scope, receiver: str, made: _Made, tested: frozenset[str]
) -> Mapping[str, ast.Constant | None]:
    """The attributes set by the methods that a function calls on an object; None if they do not agree."""
    found: dict[str, ast.Constant | None] = {}
    for call in scope.calls:
        owner, _, name = (dotted(call.func) or "").rpartition(".")
        method = Modules.of(made.home.project).method_of(made.home, made.owner, name) if owner == receiver else None
        for attribute, value in _sets(method[1]) if method is not None else ():
            if attribute in tested:
                known = found.get(attribute, value)
                agrees = known is not None and known.value == value.value and not _may_change(attribute, made)
                found[attribute] = value if agrees else None
    return found


def _sets(method: Scope) -> Iterator[tuple[str, ast.Constant]]:
    """The attributes that a method always sets to a string or a truth value."""
    for statement in method.statements:
        if statement.place is None and isinstance(statement.node, ast.Assign):
            value = _constant(statement.node.value)
            for target in targets_of(statement.node):
                name = dotted(target) or ""
                if value is not None and name.startswith("self.") and "." not in name[5:]:
                    yield name[5:], value


def _may_change(name: str, made: _Made) -> bool:
    """Whether the object itself calls a method that sets an attribute, so that it may change meanwhile."""
    family = [each for _, each in Hierarchy.of(made.home.project).lineage(made.home, made.owner)]
    setters = {scope.name for each in family for _, scope in each.attributes.get(name, ())}
    called = (dotted(call.func) for each in family for method in each.methods.values() for call in method.calls)
    return any(each is not None and each[:5] == "self." and each[5:] in setters for each in called)


# Finds what names in the tests of a function mean: names bound once, and values that are the same for all callers.
#
# ``def stack(x, is_decoder)`` whose callers all pass ``False`` never takes the branch ``if is_decoder:``. The same
# holds for a class whose objects are all created that way.

_NO_KINDS: Mapping[str, Kind] = MappingProxyType({})


class Known:
    """The meaning of names in a scope: first those bound once (``own``), then those that are certain.

    Looking up the latter examines all calls of the function, so it should come last.
    """

    def __init__(self, at: Place, handed: Mapping[str, ast.expr] | None = None) -> None:
        own = Values.of(at.file.project).definitions(at)
        self.own: Mapping[str, ast.expr] = {**own, **handed} if handed else own
        self._at = at
        self._kinds: Mapping[str, Kind] = _NO_KINDS

    def beside(self, kinds: Mapping[str, Kind]) -> Known:
        """The same, using known kinds: each configuration that ``cfg`` may be sets ``cfg.period`` to 1."""
        found = copy(self)
        found._kinds = kinds
        return found

    def get(self, name: str, default: ast.expr | None = None) -> ast.expr | None:
        """The expression that a name means."""
        value = self.own.get(name)
        if value is not None:
            return value
        return Constants.of(self._at.file.project).certain(name, self._at) or self._field(name) or default

    def _field(self, name: str) -> ast.expr | None:
        """The value that all possible classes of an object give an attribute."""
        receiver, _, attribute = name.rpartition(".")
        kind = self._kinds.get(receiver) if receiver and self._kinds else None
        if kind is None or kind.tag not in (OBJECT_TAG, LAYER_TAG) or not kind.type:
            return None
        return set_alike(self._at.file.project, kind.type, attribute)


# Finds numbers without running code: constants, arithmetic, attributes, and parameters left at their defaults.

Parameter = tuple["FileIndex", Scope, str]


@dataclass(frozen=True)
class Size:
    """A number that is known, or (``value`` is None) something else, such as a list of them.

    ``assumed``: the parameters that are assumed to have their defaults. ``given``: it depends on an argument of the
    examined function. ``attribute``: it came through an attribute of an object.
    """

    value: float | None
    assumed: frozenset[Parameter] = frozenset()
    given: bool = False
    attribute: bool = False

    @property
    def width(self) -> int | None:
        """The number as a width, None if it is not a whole number."""
        return self.value if isinstance(self.value, int) else None


def size_of(node: ast.expr | None, place: Place) -> Size | None:
    """The number that an expression evaluates to, None if the code does not show it or the data decide."""
    value = Constants.of(place.file.project).by_default(node, place) if node is not None else None
    if value is None or isinstance(value.value, (bool, str)) or value.value is None:
        return None
    if any(is_given_by_data(step.name.rpartition(".")[2]) for step in value.steps):
        return None
    origins = {step.origin for step in value.steps}
    assumed = {
        (step.function.file, step.function.scope, step.name)
        for step in value.steps
        if step.origin is ValueOrigin.DEFAULT and step.function is not None
    }
    number = value.value if isinstance(value.value, (int, float)) else None
    return Size(number, frozenset(assumed), ValueOrigin.ARGUMENT in origins, ValueOrigin.ATTRIBUTE in origins)


def default_holds(parameter: Parameter) -> bool:
    """Whether every call of a class or function in the project leaves a parameter at its default.

    Also False if nothing in the project calls it: then a configuration may.
    """
    file, scope, name = parameter
    graph = CallGraph.of(file.project)
    calls = graph.callers(Place(file, scope), Certainty.NAME)
    if not calls or graph.others(Place(file, scope)) is Certainty.SURE:
        return False
    return not any(site.argument(scope, name) is not None or is_spread(site.call) for site in calls)
