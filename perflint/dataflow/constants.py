"""Constant propagation: which values an expression may have, and where each of them is written.

Of ``num_workers=args.workers`` it says that the value is 0, the default of an option, with the ``0`` of its
``add_argument`` and the calls on the way there.  There are two questions, answered by one walk:

    Constants.of(project).possible(node, ReadPlace(file, scope))    # the values that the code seen gives it
    Constants.of(project).certain(node, ReadPlace(file, scope))     # the one value it has, whoever calls; or None

Each step of the way says its ``ValueOrigin``: a new one, such as a key of a file that is no Python, is a branch of
``_entry`` or ``_members`` that yields values with such a step, and a line in ``_SET_BY_THE_USER``.

What a parameter is bound to in one call is asked of that call: ``handed(call, "kind", 1, place)``.  What ``__init__``
sets an attribute to is ``certain`` of ``self.name`` in any method of the class.
"""

from __future__ import annotations

import ast
import enum
import operator
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain, product
from typing import TYPE_CHECKING, Any, NamedTuple

from perflint.dataflow import argument_parsers
from perflint.dataflow.call_graph import CallGraph, CallSite, Certainty
from perflint.dataflow.objects import Object, ObjectKind, class_body, entries_of
from perflint.dataflow.sole_binding import ReadPlace, binding
from perflint.dataflow.values import Values
from perflint.index.hierarchy import Hierarchy
from perflint.index.modules import Modules
from perflint.index.part import Part
from perflint.query import query
from perflint.syntax.bindings import targets_of
from perflint.syntax.names import dotted
from perflint.syntax.parameters import argument_of, changes, default_of, is_spread, keyword_parameter, position_of
from perflint.syntax.scopes import Class, Scope, Statement, terminal
from perflint.syntax.tree import string_of, walk

if TYPE_CHECKING:
    from perflint.index.project import FileIndex

_STORES_BY_NAME = re.compile(r"setattr\(|(?<! in self\.)__dict__")
"""Code that may store any attribute of an object; ``"model" in self.__dict__`` only asks."""
_MOST = 100
"""Values of one expression that are told apart: beyond these, it may be anything."""


class ValueOrigin(enum.Enum):
    """One step from an expression to where its value is written.  A literal takes none."""

    NAME = enum.auto()
    """A name that is bound to it, in the same function, in one around it or in the module."""
    ARGUMENT = enum.auto()
    """A call hands it over for a parameter."""
    DEFAULT = enum.auto()
    """It is the default of a parameter, which a call leaves out."""
    ATTRIBUTE = enum.auto()
    """It is stored in an attribute of an object, or of a class."""
    ENTRY = enum.auto()
    """It is an entry of a dict."""
    FALLBACK = enum.auto()
    """It is what a look-up gives where there is no such entry: ``config.get("amp", False)``."""
    OPTION = enum.auto()
    """It is the default of an option of the command line."""
    IMPORTED = enum.auto()
    """It is a constant of another module."""
    UNKNOWN = enum.auto()
    """It may be another one from here on: code that is not seen may call, store or look up something else."""


class OriginStep(NamedTuple):
    """One step: ``name`` is that of the parameter, option, attribute, key or constant.

    ``site``: the call that hands an argument over or leaves a default, and the ``function`` that it calls.
    """

    origin: ValueOrigin
    name: str
    site: CallSite | None = None
    function: tuple[FileIndex, Scope] | None = None


class Special(enum.Enum):
    """Values that are none."""

    UNKNOWN = enum.auto()
    LEFT_OUT = enum.auto()
    """What a call gives a parameter that it does not name."""


class Setter(enum.IntEnum):
    """Who decides about a value."""

    NOBODY = 0
    """It is written down."""
    CALLERS = 1
    """A parameter: the callers could hand over something else."""
    USER = 2
    """An option, an entry of a configuration, or something that is not known."""


_SET_BY_THE_USER = frozenset({ValueOrigin.OPTION, ValueOrigin.FALLBACK, ValueOrigin.UNKNOWN})
_SET_BY_CALLERS = frozenset({ValueOrigin.ARGUMENT, ValueOrigin.DEFAULT})


@dataclass(frozen=True)
class Value:
    """A value that an expression may have: a constant, an ``Object``, or a ``Special`` one.

    ``node`` is the literal, at ``place``; ``steps`` lead there from the expression.
    """

    value: Any
    node: ast.expr | None = None
    place: ReadPlace | None = None
    steps: tuple[OriginStep, ...] = ()

    @property
    def is_constant(self) -> bool:
        """Whether it is a number, a text, None, or a tuple of these."""
        return not isinstance(self.value, (Special, Object))

    @property
    def is_known(self) -> bool:
        """Whether it is a constant, and nobody unseen may change it."""
        return self.is_constant and all(step.origin is not ValueOrigin.UNKNOWN for step in self.steps)

    @property
    def calls(self) -> tuple[CallSite, ...]:
        """The calls on the way to it, from the inside out."""
        return tuple(step.site for step in self.steps if step.site is not None)

    @property
    def setter(self) -> Setter:
        """Who could change it."""
        origins = {step.origin for step in self.steps}
        if self.value is Special.UNKNOWN or not origins.isdisjoint(_SET_BY_THE_USER):
            return Setter.USER
        return Setter.NOBODY if origins.isdisjoint(_SET_BY_CALLERS) else Setter.CALLERS


class _Want(enum.Enum):
    """Which of the two questions the walk answers."""

    POSSIBLE = enum.auto()
    CERTAIN = enum.auto()
    """Ends at the first doubt: with another value, with a caller that is not seen."""


Found = tuple[Value, ...]
_OPEN: Found = (Value(Special.UNKNOWN),)
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda left, right: left in right,
    ast.NotIn: lambda left, right: left not in right,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
}


class Constants(Part):
    """The values of one project's expressions."""

    def possible(self, node: ast.expr, place: ReadPlace) -> Found:
        """The values that the code gives an expression; an unknown one among them says that there may be others."""
        return self._values(node, place, _Want.POSSIBLE)

    def certain(self, node: ast.expr, place: ReadPlace) -> ast.Constant | None:
        """The one constant that an expression has, whoever runs its function; None where it may differ."""
        return self._constant(self._values(node, place, _Want.CERTAIN))

    def certain_of(self, name: str, file: FileIndex, scope: Scope) -> ast.Constant | None:
        """The same of a dotted name that a function reads."""
        return self._constant(self._named(name, ReadPlace(file, scope), _Want.CERTAIN))

    @staticmethod
    def _constant(found: Found) -> ast.Constant | None:
        node = found[0].node if len(found) == 1 and found[0].is_known else None
        return node if isinstance(node, ast.Constant) else None

    def handed(self, call: ast.Call, name: str, position: int | None, place: ReadPlace) -> Found:
        """What a call gives a parameter, ``LEFT_OUT`` where that is nothing; also through ``**options``."""
        return self._handed(call, name, position, place, _Want.POSSIBLE)

    # -- expressions -------------------------------------------------------------------------------------------

    def _values(self, node: ast.expr, place: ReadPlace, want: _Want) -> Found:
        if isinstance(node, ast.Constant):
            return (Value(node.value, node, place),)
        name = dotted(node)
        if name is not None:
            return self._named(name, place, want)
        if want is _Want.CERTAIN:
            return _OPEN
        if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
            items = [item.value for item in node.elts if isinstance(item, ast.Constant)]
            return (Value(tuple(items), node, place),) if len(items) == len(node.elts) else _OPEN
        if isinstance(node, ast.Dict):
            return (Value(Object(ObjectKind.DICT, place, node)),)
        if isinstance(node, ast.Attribute):
            return self._members(self.possible(node.value, place), node.attr, place)
        if isinstance(node, ast.Subscript):
            key = string_of(node.slice)
            return self._entry(node.value, key, None, place) if key else _OPEN
        return self._call(node, place) if isinstance(node, ast.Call) else self._computed(node, place)

    def _computed(self, node: ast.expr, place: ReadPlace) -> Found:
        compute: Callable[[tuple[Value, ...]], Value]
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            parts, compute = [node.operand], lambda given: _truth(given[0], False)
        elif isinstance(node, ast.BoolOp):
            parts, compute = node.values, _all if isinstance(node.op, ast.And) else _any
        elif isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARE:
            compare = _COMPARE[type(node.ops[0])]
            parts, compute = [node.left, node.comparators[0]], lambda given: _compared(compare, *given)
        else:
            return _OPEN
        alternatives = [self.possible(part, place) for part in parts]
        return _joined((replace(compute(given), node=node) for given in product(*alternatives)), _Want.POSSIBLE)

    def _call(self, node: ast.Call, place: ReadPlace) -> Found:
        name, last, given = dotted(node.func), terminal(node), node.args
        if name in ("bool", "int", "str") and len(given) == 1:
            return self.possible(given[0], place)
        if name == "dict":
            return (Value(Object(ObjectKind.DICT, place, node)),)
        if name == "getattr" and len(given) == 3:
            return self._entry(given[0], string_of(given[1]), given[2], place)
        if isinstance(node.func, ast.Attribute):
            if last in ("get", "pop") and len(given) == 2:
                return self._entry(node.func.value, string_of(given[0]), given[1], place)
            if last in ("parse_args", "parse_known_args", "parse_intermixed_args"):
                return _joined(map(_parsed, self.possible(node.func.value, place)), _Want.POSSIBLE)
        return self._made(node, name, place) if name is not None else _OPEN

    def _made(self, node: ast.Call, name: str, place: ReadPlace) -> Found:
        """What a call of a class or function of the project gives, where that can be looked into."""
        qualified = place.file.names.resolve(name)
        if qualified.endswith("ArgumentParser"):
            return (Value(Object(ObjectKind.PARSER, place, node)),)
        found = Modules.of(self._project).find(qualified, place.file)
        if found is not None and isinstance(found[1], Class):
            file, owner = found[0], found[1]
            init = owner.methods.get("__init__")
            if not any(base.endswith("ArgumentParser") for base in owner.bases):
                return (Value(Object(ObjectKind.CLASS, place, node, (file, owner))),)
            return (Value(Object(ObjectKind.PARSER, ReadPlace(file, init))),) if init is not None else _OPEN
        function = Values.of(self._project).callee(place.file, place.scope, name, {})
        return self._returned(*function) if function is not None else _OPEN

    @query(cycle=())
    def _returned(self, file: FileIndex, scope: Scope) -> Found:
        """The things that a function returns; its numbers are not followed."""
        values = (
            value if isinstance(value.value, Object) else _OPEN[0]
            for statement in scope.statements
            if isinstance(statement.node, ast.Return) and statement.node.value is not None
            for value in self.possible(statement.node.value, ReadPlace(file, scope, statement))
        )
        return _joined(values, _Want.POSSIBLE)

    # -- names -------------------------------------------------------------------------------------------------

    @query(cycle=())  # a function that hands its own parameter on, a name that is bound to itself
    def _named(self, name: str, place: ReadPlace, want: _Want) -> Found:
        found = binding(name, place)
        if found is None:
            return self._beyond(name, place, want)
        if found.is_parameter:
            return self._parameter(name, place.file, found.scope, want)
        if found.value is None:
            return _OPEN
        values = self._values(found.value, place.at(found.scope, found.statement), want)
        step = OriginStep(ValueOrigin.NAME, name)
        return _after((_truth(value, True) if found.is_truth else value for value in values), want, step)

    def _beyond(self, name: str, place: ReadPlace, want: _Want) -> Found:
        """The values of a dotted name that no function around binds: an import, an attribute."""
        receiver, _, last = name.rpartition(".")
        owner = place.scope.owner
        if owner is not None and name == "self":
            return (Value(Object(ObjectKind.CLASS, place, None, (place.file, owner))),)
        if want is _Want.CERTAIN:
            return self._stored(last, place.file, owner, want) if owner is not None and receiver == "self" else _OPEN
        if place.file.names.is_bound(name.partition(".")[0]):
            imported = self._imported(place.file.names.resolve(name), place.file)
            if imported:
                return imported
        if not receiver:
            return _OPEN
        found = self._members(self._named(receiver, place, want), last, place)
        if found == _OPEN and "." not in receiver and receiver != "self":
            return self._option(
                place.at(place.file.scopes.module, None), last, place, (OriginStep(ValueOrigin.UNKNOWN, last),)
            )
        return found

    def _imported(self, qualified: str, file: FileIndex) -> Found:
        """A class, a module, or a constant of a module."""
        modules = Modules.of(self._project)
        found = modules.find(qualified, file)
        if found is not None:
            there, owner = found
            made = (
                Object(ObjectKind.CLASS, ReadPlace(there, there.scopes.module), None, (there, owner))
                if isinstance(owner, Class)
                else None
            )
            return (Value(made),) if made is not None else _OPEN
        module = modules.module_named(qualified, file)
        if module is not None:
            return (Value(Object(ObjectKind.MODULE, ReadPlace(module, module.scopes.module))),)
        parent, _, last = qualified.rpartition(".")
        module = modules.module_named(parent, file)
        return self._constant_of(module, last) if module is not None and module is not file else ()

    def _constant_of(self, module: FileIndex, name: str) -> Found:
        values = self._named(name, ReadPlace(module, module.scopes.module), _Want.POSSIBLE)
        return _after(values, _Want.POSSIBLE, OriginStep(ValueOrigin.IMPORTED, name))

    # -- parameters --------------------------------------------------------------------------------------------

    @query(cycle=())
    def _parameter(self, name: str, file: FileIndex, scope: Scope, want: _Want) -> Found:
        """What the calls of a function give one of its parameters, or leave it at."""
        graph, is_certain = CallGraph.of(self._project), want is _Want.CERTAIN
        if is_certain and graph.is_handed_over(file, scope):
            return _OPEN
        sites = graph.calls(file, scope, Certainty.NAME)
        if not sites:
            steps = OriginStep(ValueOrigin.DEFAULT, name, None, (file, scope)), OriginStep(ValueOrigin.UNKNOWN, name)
            return _after(self._default(name, file, scope, want), want, *steps)
        found = _joined(chain.from_iterable(self._argument(name, file, scope, site, want) for site in sites), want)
        if is_certain and found != _OPEN and graph.others(file, scope) is not Certainty.NO:
            return _OPEN
        return found

    def _argument(self, name: str, file: FileIndex, scope: Scope, site: CallSite, want: _Want) -> Iterator[Value]:
        """What one call gives a parameter."""
        position = position_of(scope, name)
        place = ReadPlace(site.file, site.scope, site.statement)
        position = position if position is None else position + site.is_unbound
        for value in self._handed(site.call, name, position, place, want):
            if value.value is Special.LEFT_OUT:
                left = (*value.steps, OriginStep(ValueOrigin.DEFAULT, name, site, (file, scope)))
                yield from _after(self._default(name, file, scope, want), want, *left)
            else:
                yield from _after((value,), want, OriginStep(ValueOrigin.ARGUMENT, name, site, (file, scope)))

    def _default(self, name: str, file: FileIndex, scope: Scope, want: _Want) -> Found:
        default = default_of(scope, name)
        return self._values(default, ReadPlace(file, scope.parent or scope), want) if default is not None else _OPEN

    def _handed(self, call: ast.Call, name: str, position: int | None, place: ReadPlace, want: _Want) -> Found:
        given = argument_of(call, name, position)
        if given is not None:
            return self._values(given, place, want)
        spreads = [keyword.value for keyword in call.keywords if keyword.arg is None]
        if any(isinstance(item, ast.Starred) for item in call.args) or (spreads and want is _Want.CERTAIN):
            return _OPEN
        found: Found = (Value(Special.LEFT_OUT, call, place),)
        for node in spreads:
            if any(value.value is Special.LEFT_OUT for value in found):
                found = self._spread(node, name, call, place)
        return found

    def _spread(self, node: ast.expr, name: str, call: ast.Call, place: ReadPlace) -> Found:
        """What ``**node`` gives a parameter."""
        own = keyword_parameter(place.scope)
        if own is not None and dotted(node) == own:
            return self._in_keywords(name, own, place.file, place.scope)
        found: list[Value] = []
        for base in self.possible(node, place):
            entries = _entries(base, name)
            if entries is None:
                return _OPEN
            if name in entries:
                steps = (*base.steps, OriginStep(ValueOrigin.ENTRY, name))
                found += _after(self.possible(entries[name], base.value.place), _Want.POSSIBLE, *steps)
            else:
                found.append(Value(Special.LEFT_OUT, call, place, base.steps))
        return _joined(found, _Want.POSSIBLE)

    @query(cycle=())
    def _in_keywords(self, name: str, own: str, file: FileIndex, scope: Scope) -> Found:
        """What callers put into the ``**kwargs`` that a function hands on."""
        if changes(scope, own):
            return _OPEN
        values = (
            value
            for site in CallGraph.of(self._project).calls(file, scope, Certainty.NAME)
            for value in _after(
                self.handed(site.call, name, None, ReadPlace(site.file, site.scope, site.statement)),
                _Want.POSSIBLE,
                OriginStep(ValueOrigin.ARGUMENT, name, site),
            )
        )
        return _joined(values, _Want.POSSIBLE)

    # -- what is looked up -------------------------------------------------------------------------------------

    def _entry(self, holder: ast.expr, key: str | None, fallback: ast.expr | None, place: ReadPlace) -> Found:
        """``holder[key]``, ``holder.get(key, fallback)`` or ``getattr(holder, key, fallback)``."""
        if key is None:
            return _OPEN
        bases = self.possible(holder, place)
        values = self.possible(fallback, place) if fallback is not None and bases else ()
        last = OriginStep(ValueOrigin.FALLBACK, key)
        found: list[Value] = []
        for base in bases:
            entries = _entries(base, key)
            if entries is not None and key in entries:
                steps = (*base.steps, OriginStep(ValueOrigin.ENTRY, key))
                found += _after(self.possible(entries[key], base.value.place), _Want.POSSIBLE, *steps)
            elif entries is not None:
                found += _after(values, _Want.POSSIBLE, *base.steps, last)
        if found or not bases:
            return _joined(found, _Want.POSSIBLE)
        return (
            _after(values, _Want.POSSIBLE, OriginStep(ValueOrigin.UNKNOWN, key), last)
            if fallback is not None
            else _OPEN
        )

    def _members(self, bases: Found, name: str, place: ReadPlace) -> Found:
        """An attribute of what an expression may stand for."""
        return _joined((value for base in bases for value in self._member(base, name, place)), _Want.POSSIBLE)

    def _member(self, base: Value, name: str, place: ReadPlace) -> Found:
        thing = base.value
        if _is(base, ObjectKind.NAMESPACE):
            return self._option(thing.place, name, place, base.steps)
        if _is(base, ObjectKind.MODULE):
            return _after(self._constant_of(thing.place.file, name), _Want.POSSIBLE, *base.steps)
        if not _is(base, ObjectKind.CLASS):
            return _OPEN
        file, owner = thing.owner
        call = thing.node
        if isinstance(call, ast.Call) and "__init__" not in owner.methods and name not in owner.attributes:
            given = argument_of(call, name, None)
            if given is not None:
                return _after(
                    self.possible(given, thing.place),
                    _Want.POSSIBLE,
                    *base.steps,
                    OriginStep(ValueOrigin.ATTRIBUTE, name),
                )
            if call.args or is_spread(call):
                return _OPEN
        return _after(self._stored(name, file, owner, _Want.POSSIBLE), _Want.POSSIBLE, *base.steps)

    def _option(self, parser: ReadPlace, name: str, place: ReadPlace, steps: tuple[OriginStep, ...]) -> Found:
        """The default of an option of the command line."""
        found = argument_parsers.option(parser, name) if parser.file.has("add_argument") else None
        if found is None:
            return _OPEN
        there, call = found
        default = argument_parsers.default_of(call)
        doubt = [OriginStep(ValueOrigin.UNKNOWN, name)] * argument_parsers.may_be_overridden(
            name, place.file, parser.file
        )
        if default is None:
            return _OPEN
        values = (Value(default, call, there),) if isinstance(default, bool) else self.possible(default, there)
        return _after(values, _Want.POSSIBLE, *steps, *doubt, OriginStep(ValueOrigin.OPTION, name))

    # -- attributes of objects ---------------------------------------------------------------------------------

    @query(cycle=())
    def _stored(self, name: str, file: FileIndex, owner: Class, want: _Want) -> Found:
        """What the code of a class stores in an attribute of its objects, or has in its body under that name."""
        assigned = [(value, where, _storing(value, where)) for value, where in owner.attributes.get(name, ())]
        body = [value for target, value in class_body(owner) if target == name]
        if not assigned and len(body) == 1 and not self._is_in_a_body_below(name, owner):
            assigned = [(body[0], file.scopes.module, None)]
        is_sole = len(assigned) == 1 and name not in owner.methods and self._is_kept(name, file, owner)
        if want is _Want.CERTAIN and not (is_sole and self._is_set_up(name, file, owner)):
            return _OPEN
        places = ((value, ReadPlace(file, where, statement)) for value, where, statement in assigned)
        found = _joined(chain.from_iterable(self._values(value, place, want) for value, place in places), want)
        is_sole = is_sole and all(each is None or each.place is None for _, _, each in assigned)
        doubt = [] if is_sole or want is _Want.CERTAIN else [OriginStep(ValueOrigin.UNKNOWN, name)]
        return _after(found, want, OriginStep(ValueOrigin.ATTRIBUTE, name), *doubt) or _OPEN

    def _is_set_up(self, name: str, file: FileIndex, owner: Class) -> bool:
        """Whether ``__init__`` stores an attribute, and all the code of the class is seen."""
        where = [scope.name for _, scope in owner.attributes.get(name, ())]
        return where == ["__init__"] and name != "training" and Hierarchy.of(self._project).is_plain(file, owner)

    def _is_in_a_body_below(self, name: str, owner: Class) -> bool:
        """Whether a class that inherits from another one has the name in its body as well."""
        below = Hierarchy.of(self._project).descendants(owner)
        return any(name == target for _, child in below for target, _ in class_body(child))

    def _is_kept(self, name: str, file: FileIndex, owner: Class) -> bool:
        """Whether no code but that of the class itself stores an attribute of its objects."""
        related = Hierarchy.of(self._project).are_related
        stores = (where for each in self._project.mentions.of(name) for where in self._stored_in(each).get(name, ()))
        if any(where is None or (where is not owner and related(where, owner)) for where in stores):
            return False
        own = file.source.lines.between(owner.node.lineno, owner.node.end_lineno or owner.node.lineno)
        return _STORES_BY_NAME.search(own) is None

    @query
    def _stored_in(self, file: FileIndex) -> Mapping[str, list[Class | None]]:
        """The classes on whose ``self`` a file stores an attribute, None for another object, by its name."""
        found: dict[str, list[Class | None]] = defaultdict(list)
        for scope in file.scopes.scopes:
            for statement in scope.statements:
                for target in _targets(statement.node):
                    if isinstance(target, ast.Attribute):
                        own = isinstance(target.value, ast.Name) and target.value.id == "self"
                        found[target.attr].append(scope.owner if own else None)
        return found


def _targets(node: ast.stmt) -> Iterator[ast.expr]:
    """What a statement binds, one by one."""
    given = targets_of(node)
    if isinstance(node, (ast.For, ast.AsyncFor)):
        given = [node.target]
    elif isinstance(node, (ast.With, ast.AsyncWith)):
        given = [item.optional_vars for item in node.items if item.optional_vars is not None]
    for target in given:
        if isinstance(target, (ast.Tuple, ast.List, ast.Starred)):
            yield from (item for item in walk(target) if isinstance(item, (ast.Name, ast.Attribute)))
        else:
            yield target


def _storing(value: ast.expr, scope: Scope) -> Statement | None:
    """The statement of a function that stores a value."""
    return next((each for each in scope.statements if getattr(each.node, "value", None) is value), None)


# -- values ----------------------------------------------------------------------------------------------------


def _joined(values: Iterable[Value], want: _Want) -> Found:
    """The values of several ways that lead to one place."""
    found: dict[Value, None] = {}
    for value in values:
        if want is _Want.CERTAIN and not (value.is_known and all(_same(value, other) for other in found)):
            return _OPEN
        if len(found) == _MOST:
            return (*found, *_OPEN)
        if want is _Want.POSSIBLE or not found:
            found[value] = None
    return tuple(found)


def _same(one: Value, other: Value) -> bool:
    return type(one.value) is type(other.value) and bool(one.value == other.value)


def _after(values: Iterable[Value], want: _Want, *steps: OriginStep) -> Found:
    """The values at the end of some steps, but for those whose way leads twice through one call."""
    sites = {step.site for step in steps if step.site is not None}
    return _joined(
        (
            value if value.value is Special.UNKNOWN else replace(value, steps=(*steps, *value.steps))
            for value in values
            if sites.isdisjoint(value.calls)
        ),
        want,
    )


def _is(value: Value, kind: ObjectKind) -> bool:
    return isinstance(value.value, Object) and value.value.kind is kind


def _entries(base: Value, key: str) -> Mapping[str, ast.expr] | None:
    """The entries of a dict, among them that of a key if there is one; None where that cannot be told."""
    entries = entries_of(base.value) if _is(base, ObjectKind.DICT) else None
    if entries is None or key in entries.changed or not (key in entries.values or entries.complete):
        return None
    return entries.values


def _parsed(parser: Value) -> Value:
    """What ``parse_args`` of a parser gives."""
    return (
        replace(parser, value=replace(parser.value, kind=ObjectKind.NAMESPACE))
        if _is(parser, ObjectKind.PARSER)
        else _OPEN[0]
    )


def _truth(value: Value, expected: bool) -> Value:
    """Whether a value is true, or (not ``expected``) whether it is not."""
    return replace(value, value=bool(value.value) is expected) if value.is_constant else value


def _compared(compare: Callable[[Any, Any], Any], left: Value, right: Value) -> Value:
    if not (left.is_constant and right.is_constant):
        return _OPEN[0]
    try:
        return Value(bool(compare(left.value, right.value)), left.node, left.place, (*left.steps, *right.steps))
    except TypeError:
        return _OPEN[0]


def _all(parts: tuple[Value, ...]) -> Value:
    """``a and b``: the one that is false and nobody can change, if there is one."""
    false = [part for part in parts if part.is_constant and not part.value]
    unknown = [part for part in parts if not part.is_constant]
    return min(false, key=lambda part: part.setter) if false else (unknown or parts)[-1]


def _any(parts: tuple[Value, ...]) -> Value:
    """``a or b``: the one that is true, if there is one; otherwise the one that most people can change."""
    true = [part for part in parts if part.is_constant and part.value]
    unknown = [part for part in parts if not part.is_constant]
    return (true or unknown or [max(parts, key=lambda part: part.setter)])[0]
